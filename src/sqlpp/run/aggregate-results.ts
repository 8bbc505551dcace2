// Results of aggregates, with pauses for other requests where their computation takes long.
import { sortedAtOnce } from '#base/sort-steps.ts';
import type { AggregateState } from '../functions/aggregate-states.ts';
import type { Value } from '../values/value.ts';
import type { Run } from './run.ts';

/** Whether the aggregate's result is computed from so many values that it should be computed in steps. */
export const readsMany = (state: AggregateState): boolean => (state.readValues ?? 0) > sortedAtOnce;

export async function aggregateResult(run: Run, state: AggregateState): Promise<Value> {
  const steps = readsMany(state) ? state.resultInSteps?.() : undefined;
  return steps ? await run.slices.resultOf(steps) : state.result();
}
