// Merges the samples of one series from several time spans. Where two spans overlap because the clock was set back, the one
// written later wins: interleaving both would make counters appear to fall and grow.
import { type Chunk, samplesOf } from './head.ts';

/** Chunks of one span, in time order. */
export type Run = readonly Chunk[];

export interface Samples {
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
}

interface DecodedRun extends Samples {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** `runs` must be in the order in which they were written. */
export function samplesOfRuns(runs: readonly Run[], fromMs: number, toMs: number): Samples {
  const decoded = runs
    .filter((run) => run.length > 0)
    .map((run) => ({
      firstMs: (run[0] as Chunk).firstMs,
      lastMs: (run.at(-1) as Chunk).lastMs,
      ...samplesOf(run, fromMs, toMs),
    }));
  const isInOrder = decoded.every(
    (run, index) => index === 0 || run.firstMs > (decoded[index - 1] as DecodedRun).lastMs,
  );
  return isInOrder ? joined(decoded) : newest(decoded);
}

function joined(all: readonly Samples[]): Samples {
  if (all.length === 1) return all[0] as Samples;
  const count = all.reduce((sum, { timesMs }) => sum + timesMs.length, 0);
  const timesMs = new Float64Array(count);
  const values = new Float64Array(count);
  let offset = 0;
  for (const run of all) {
    timesMs.set(run.timesMs, offset);
    values.set(run.values, offset);
    offset += run.timesMs.length;
  }
  return { timesMs, values };
}

/** Without the samples of earlier runs at times that a later run covers. */
function newest(decoded: readonly DecodedRun[]): Samples {
  const remaining: [number, number][] = [];
  for (const [index, { timesMs, values }] of decoded.entries()) {
    const laterRuns = decoded.slice(index + 1);
    for (const [at, timeMs] of timesMs.entries()) {
      const isInLater = laterRuns.some(({ firstMs, lastMs }) => timeMs >= firstMs && timeMs <= lastMs);
      if (!isInLater) remaining.push([timeMs, values[at] as number]);
    }
  }
  remaining.sort(([a], [b]) => a - b);
  return {
    timesMs: Float64Array.from(remaining, ([timeMs]) => timeMs),
    values: Float64Array.from(remaining, ([, value]) => value),
  };
}
