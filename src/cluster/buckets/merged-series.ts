// The sample series of a section over several nodes. All nodes sample at multiples of the same steps, but neither their clocks nor their last
// samples agree.
import type { BucketSeries } from './bucket-series.ts';

/** The answer does not wait for a node whose newest sample is older than the newest of all by more than this number of timestamps. */
const lateSteps = 3;

/** Figures for which the mean of the nodes is shown, each node counting the same; all others are added up. */
const averaged =
  /(?:ratio|_rate|fragmentation|utilization|percent_completeness|latency)$|(?:^|_)avg_|time_committing$/;

export function mergedSeries(all: readonly BucketSeries[]): BucketSeries {
  const sampled = all.filter(({ timesMs }) => timesMs.length > 0);
  // Before the first sample the names of the figures are shown, without values.
  const [first = all[0] ?? { timesMs: [], figures: {} }, ...others] = sampled;
  if (others.length === 0) return first;
  const timesMs = sharedTimes(sampled);
  const names = new Set(sampled.flatMap(({ figures }) => Object.keys(figures)));
  const figures = [...names].map((name) => [name, mergedFigure(sampled, name, timesMs)] as const);
  return { timesMs, figures: Object.fromEntries(figures) };
}

/** The timestamps up to the last one that all nodes have, so that the newest values are not those of some nodes only. */
function sharedTimes(all: readonly BucketSeries[]): number[] {
  const times = [...new Set(all.flatMap(({ timesMs }) => timesMs))].sort((a, b) => a - b);
  const earliest = times.at(-1 - lateSteps) ?? (times[0] as number);
  const newest = all.map(({ timesMs }) => timesMs.at(-1) as number).filter((timeMs) => timeMs >= earliest);
  const endMs = Math.min(...newest);
  return times.filter((timeMs) => timeMs <= endMs);
}

function mergedFigure(all: readonly BucketSeries[], name: string, timesMs: readonly number[]): number[] {
  const isAveraged = averaged.test(name);
  const columns = all.flatMap((series) => valuesByTime(series, name) ?? []);
  return timesMs.map((timeMs) => {
    const values = columns.flatMap((column) => column.get(timeMs) ?? []);
    const sum = values.reduce((total, value) => total + value, 0);
    return isAveraged && values.length > 0 ? sum / values.length : sum;
  });
}

/** The values of one node at these times; 0 where it has none, nothing for a figure that it does not have. */
export function alignedFigure(series: BucketSeries, name: string, timesMs: readonly number[]): number[] {
  const values = valuesByTime(series, name);
  return values === null ? [] : timesMs.map((timeMs) => values.get(timeMs) ?? 0);
}

/** Null: the series have no such figure. */
function valuesByTime({ timesMs, figures }: BucketSeries, name: string): Map<number, number> | null {
  const values = figures[name];
  return values ? new Map(timesMs.map((timeMs, index) => [timeMs, values[index] as number])) : null;
}
