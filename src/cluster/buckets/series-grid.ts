// Resamples series at even steps: gauges by their last value, counters by their growth per second of the
// step. A counter that decreased has restarted at zero.
import type { Labels, Series } from '#metrics/sample.ts';

export interface GridSteps {
  /** Ascending. */
  readonly timesMs: readonly number[];
  readonly stepMs: number;
}

/** Samples further apart than this many steps, such as those every ten seconds while no client reads the statistics, leave steps without a sample. */
const sparseSteps = 1.5;
/** Samples come every second or ten seconds, old ones every five minutes; a value is stale after this time. */
const staleAfterMs = { fine: 25_000, coarse: 660_000 };
const coarseStepMs = 300_000;

export type Column = readonly number[];

export class SeriesGrid {
  readonly #byName = new Map<string, Series[]>();
  readonly #steps: GridSteps;
  readonly #maxAgeMs: number;

  constructor(series: readonly Series[], steps: GridSteps) {
    this.#steps = steps;
    this.#maxAgeMs = Math.max(
      steps.stepMs,
      steps.stepMs < coarseStepMs ? staleAfterMs.fine : staleAfterMs.coarse,
    );
    for (const oneSeries of series) {
      const name = oneSeries.labels['__name__'] ?? '';
      const existing = this.#byName.get(name);
      if (existing) existing.push(oneSeries);
      else this.#byName.set(name, [oneSeries]);
    }
  }

  /** The sum over the series with these labels; NaN where none of them was sampled. */
  gauge(name: string, labels: Labels = {}): Column {
    return this.#sum(name, labels, (series) => this.#read(series, ({ values }, at) => values[at] as number));
  }

  /** A column of one value. */
  constant(value: number): Column {
    return this.#steps.timesMs.map(() => value);
  }

  /** The growth of a counter per second; NaN before the second sample. */
  rate(name: string, labels: Labels = {}): Column {
    return this.#sum(name, labels, (series) => {
      const grown = growthOf(series.values);
      const between = (timesMs: Float64Array, from: number, to: number): number => {
        const seconds = ((timesMs[to] as number) - (timesMs[from] as number)) / 1000;
        return ((grown[to] as number) - (grown[from] as number)) / seconds;
      };
      return this.#read(series, ({ timesMs }, at, timeMs) => {
        if (this.#isWithinGap(timesMs, at, timeMs)) return between(timesMs, at, at + 1);
        const before = this.#baseOf(timesMs, at, timeMs - this.#steps.stepMs);
        return before < 0 ? Number.NaN : between(timesMs, before, at);
      });
    });
  }

  #sum(name: string, labels: Labels, read: (series: Series) => number[]): Column {
    const columns = (this.#byName.get(name) ?? []).filter((column) => has(column.labels, labels)).map(read);
    return this.#steps.timesMs.map((_, index) => {
      const values = columns.map((column) => column[index] as number).filter((value) => !Number.isNaN(value));
      return values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0);
    });
  }

  #read(series: Series, value: (series: Series, at: number, timeMs: number) => number): number[] {
    let at = -1;
    return this.#steps.timesMs.map((timeMs) => {
      while (at + 1 < series.timesMs.length && (series.timesMs[at + 1] as number) <= timeMs) at++;
      const isFresh = at >= 0 && timeMs - (series.timesMs[at] as number) <= this.#maxAgeMs;
      return isFresh ? value(series, at, timeMs) : Number.NaN;
    });
  }

  /** Whether the time is between two samples that are further apart than steps: the growth between them belongs to all steps between them. */
  #isWithinGap(timesMs: Float64Array, at: number, timeMs: number): boolean {
    const [before, after] = [timesMs[at] as number, timesMs[at + 1]];
    if (after === undefined || before === timeMs) return false;
    const gapMs = after - before;
    return gapMs > sparseSteps * this.#steps.stepMs && gapMs <= this.#maxAgeMs;
  }

  /** The index of the sample against which growth up to index `at` is computed: the last one up to `fromMs`, else the first; -1: none. */
  #baseOf(timesMs: Float64Array, at: number, fromMs: number): number {
    let before = at - 1;
    while (before > 0 && (timesMs[before] as number) > fromMs) before--;
    if (before < 0) return -1;
    const isNear = (timesMs[at] as number) - (timesMs[before] as number) <= 2 * this.#maxAgeMs;
    return isNear ? before : -1;
  }
}

function has(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** The values of a counter as if it had never been reset. */
function growthOf(values: Float64Array): Float64Array {
  const grown = new Float64Array(values.length);
  for (let at = 1; at < values.length; at++) {
    const [before, now] = [values[at - 1] as number, values[at] as number];
    grown[at] = (grown[at - 1] as number) + (now >= before ? now - before : now);
  }
  return grown;
}
