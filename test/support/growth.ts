// How the time of work grows with its size: unlike a number of seconds, this is the same on a slow and on a busy machine.
import assert from 'node:assert/strict';

/** How many times larger the large work is than the small one. */
const factor = 8;
/** The growth of the next power of the size takes `factor` times as long as the allowed one; the limit is halfway between them. */
const ratioMax = Math.sqrt(factor);
const roundsMax = 20;

/**
 * Fails if the time of `work` grows faster than this power of its size: 1, in proportion to it; 2, with its square. Compares one large work with
 * as many small ones as would take the same time, so that other work of the machine slows both down alike.
 */
export async function assertGrowth(
  power: 1 | 2,
  size: number,
  work: (size: number) => unknown,
): Promise<void> {
  let [smallMs, largeMs] = [Infinity, Infinity];
  // The least times count, since compilation, garbage collection and other processes add to single ones.
  for (let round = 0; round < roundsMax; round++) {
    smallMs = Math.min(smallMs, await timeOf(factor ** power, () => work(size)));
    largeMs = Math.min(largeMs, await timeOf(1, () => work(size * factor)));
    if (round > 0 && largeMs <= ratioMax * smallMs) return;
  }
  assert.fail(
    `${largeMs} ms; ${smallMs} ms for ${factor ** power} works of a size that is ${factor} times smaller`,
  );
}

async function timeOf(runs: number, work: () => unknown): Promise<number> {
  const startedMs = performance.now();
  for (let run = 0; run < runs; run++) await work();
  return performance.now() - startedMs;
}
