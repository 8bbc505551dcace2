// Sorts many items with pauses for other requests. Equal items keep their order.
import { sortInSteps } from '#base/sort-steps.ts';
import type { Run } from './run.ts';

export async function sortedInChunks<T>(
  run: Pick<Run, 'yieldIfDue'>,
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Promise<readonly T[]> {
  const steps = sortInSteps(items, compare);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await run.yieldIfDue();
  }
}
