import type { AppError } from '#contract/errors.ts';
import { type BoundRoute, bind } from '#contract/route.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import { refusedCalls, type Wording } from './xdcr.contract.ts';

const refusalIn: Record<Wording, (parameters: { what: string }) => AppError> = {
  bare: nodeRefusals.severalNodesBare,
  fields: nodeRefusals.severalNodesFields,
};

export const xdcrRoutes = (): BoundRoute[] =>
  refusedCalls.map(({ route, what, wording }) =>
    bind(route, () => {
      throw refusalIn[wording]({ what });
    }),
  );
