import type { AppError } from '#contract/errors.ts';
import { type BoundRoute, bind } from '#contract/route.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import { refusedCalls, type Wording } from './several-nodes.contract.ts';

const refusalIn: Record<Wording, (parameters: { what: string }) => AppError> = {
  text: nodeRefusals.severalNodes,
  bare: nodeRefusals.severalNodesBare,
  fields: nodeRefusals.severalNodesFields,
};

export const severalNodesRoutes = (): BoundRoute[] =>
  refusedCalls.map(({ route, what, wording }) =>
    bind(route, () => {
      throw refusalIn[wording]({ what });
    }),
  );
