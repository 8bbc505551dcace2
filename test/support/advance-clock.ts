// Advances a manual clock while asynchronous work waits for it.
import assert from 'node:assert/strict';
import type { ManualClock } from './manual-clock.ts';

/** Runs the promises that are due. */
export const runPromises = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

/** Advances the clock until the work is done. */
export async function advanceUntilDone<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let done = false;
  const finished = work.finally(() => {
    done = true;
  });
  await runPromises();
  for (let step = 0; step < 10_000 && !done; step++) {
    clock.advance(100);
    await runPromises();
  }
  assert.ok(done, 'the work did not finish by the passing of time alone');
  return await finished;
}
