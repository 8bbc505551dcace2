// An evaluation context for tests: fixed time, deterministic random numbers, no subqueries, no user functions.
import type { EvaluationContext } from '../functions/context.ts';

export function evaluationContext(overrides: Partial<EvaluationContext> = {}): EvaluationContext {
  let draws = 0;
  return {
    positional: [],
    named: new Map(),
    startedMs: Date.UTC(2026, 10, 22, 12, 30, 15, 250),
    clockMs: () => Date.UTC(2026, 10, 22, 12, 30, 16, 500),
    random: () => (++draws % 10) / 10,
    uuid: () => '00000000-0000-4000-8000-000000000000',
    timeZone: 'UTC',
    subquery: () => [],
    userCall: () => null,
    serviceCall: () => null,
    ...overrides,
  };
}
