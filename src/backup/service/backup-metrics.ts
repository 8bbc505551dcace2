// Counts the tasks of this node and the checks of archives, under the published names.
import { histogramOf, type MetricName, sampleOf } from '#metrics/catalog.ts';
import type { Labels, MetricSample } from '#metrics/sample.ts';

interface TaskDurations {
  readonly labels: Labels;
  /** For each bound, and for no bound: how many tasks took at most as long. */
  readonly counts: number[];
  sum: number;
}

/** Bounds of the histogram of durations, in seconds. */
const bounds = [1, 10, 60, 300, 900, 3_600, 14_400, 43_200];
/** Further series are not recorded: those of deleted repositories stay until the process ends. */
const seriesMax = 10_000;

export class BackupMetrics {
  readonly #values = new Map<string, { name: MetricName; labels: Labels; value: number }>();
  readonly #durations = new Map<string, TaskDurations>();

  add(name: MetricName, labels: Labels): void {
    this.#set(name, labels, (before) => before + 1);
  }

  set(name: MetricName, labels: Labels, value: number): void {
    this.#set(name, labels, () => value);
  }

  addDuration(labels: Labels, seconds: number): void {
    const key = JSON.stringify(labels);
    if (!this.#durations.has(key) && this.#durations.size >= seriesMax) return;
    const histogram = this.#durations.get(key) ?? {
      labels,
      counts: Array<number>(bounds.length + 1).fill(0),
      sum: 0,
    };
    this.#durations.set(key, histogram);
    histogram.sum += seconds;
    for (const [index, bound] of [...bounds, Number.POSITIVE_INFINITY].entries())
      if (seconds <= bound) histogram.counts[index] = (histogram.counts[index] as number) + 1;
  }

  *collect(): Iterable<MetricSample> {
    for (const { name, labels, value } of this.#values.values()) yield sampleOf(name, labels, value);
    for (const { labels, counts, sum } of this.#durations.values())
      yield histogramOf('backup_task_duration_seconds', labels, { bounds, counts: [...counts], sum });
  }

  #set(name: MetricName, labels: Labels, next: (before: number) => number): void {
    const key = `${name}${JSON.stringify(labels)}`;
    const before = this.#values.get(key);
    if (before === undefined && this.#values.size >= seriesMax) return;
    this.#values.set(key, { name, labels, value: next(before?.value ?? 0) });
  }
}
