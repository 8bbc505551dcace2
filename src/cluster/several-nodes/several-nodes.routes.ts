import { type AppError, refuse } from '#contract/errors.ts';
import { type BoundRoute, bind } from '#contract/route.ts';
import { refusedCalls, type Wording } from './several-nodes.contract.ts';

const notImplemented = 501;

const worded: Record<Wording, (reason: string) => AppError> = {
  text: (reason) => refuse.text(reason, notImplemented),
  list: (reason) => refuse.list([reason], notImplemented),
  bare: (reason) => refuse.bare({ _: reason }, notImplemented),
  fields: (reason) => refuse.fields({ _: reason }, notImplemented),
};

export const severalNodesRoutes = (): BoundRoute[] =>
  refusedCalls.map(({ route, reason, wording }) =>
    bind(route, () => {
      throw worded[wording](reason);
    }),
  );
