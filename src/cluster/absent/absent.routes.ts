// Refuses the routes that published servers have and this node does not, each with the reason.
import { type BoundRoute, bind } from '#contract/route.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import { absentCalls } from './absent.contract.ts';

export const absentRoutes = (): BoundRoute[] =>
  absentCalls.map(({ route, reason }) =>
    bind(route, () => {
      throw nodeRefusals.absent({ reason });
    }),
  );
