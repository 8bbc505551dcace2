import { refuse } from '#contract/errors.ts';
import { type BoundRoute, bind } from '#contract/route.ts';
import { absentCalls } from './absent.contract.ts';

export const absentRoutes = (): BoundRoute[] =>
  absentCalls.map(({ route, reason }) =>
    bind(route, () => {
      throw refuse.text(reason, 501);
    }),
  );
