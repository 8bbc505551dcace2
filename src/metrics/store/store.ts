// Stores the node's time series in three resolutions: every second for the last minutes, every ten seconds for weeks, every five minutes
// for years.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { labelsKey } from '../query/combine.ts';
import type { FlatSample, Labels, Matcher, MetricsStore, Selection, Series } from '../sample.ts';
import type { StoreFiles } from './files.ts';
import { RecentSamples } from './recent-samples.ts';
import { Tier } from './tier.ts';

const secondMs = 1_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const mib = 1024 * 1024;

export const seriesMax = 20_000;
export const coarseStepMs = 300 * secondMs;
/** Five minutes at a sample per second. */
const recentSlots = 300;
export const recentSeriesMax = 5_000;

/** Samples that one query may read: about 100 MB in memory. */
const samplesMax = 5_000_000;

export const fineBounds = {
  spanMs: 2 * hourMs,
  retention: { ageMs: 14 * dayMs, bytes: 512 * mib },
  seriesMax,
  samplesMax,
};
const coarseBounds = {
  spanMs: 2 * dayMs,
  retention: { ageMs: 2 * 365 * dayMs, bytes: 512 * mib },
  seriesMax,
  samplesMax,
};

export interface StoreOptions {
  /** One folder per resolution. */
  files: { fine: StoreFiles; coarse: StoreFiles };
  clock: Clock;
  log: Log;
}

export class TimeSeriesStore implements MetricsStore {
  readonly #fine: Tier;
  readonly #coarse: Tier;
  readonly #recent = new RecentSamples({ slots: recentSlots, seriesMax: recentSeriesMax });
  readonly #log: Log;
  /** The number of the five minutes whose samples were stored last. */
  #lastCoarse = 0;
  #hasReportedRefused = false;

  constructor({ files, clock, log }: StoreOptions) {
    this.#log = log;
    this.#fine = new Tier({ files: files.fine, bounds: fineBounds, clock, log });
    this.#coarse = new Tier({ files: files.coarse, bounds: coarseBounds, clock, log });
  }

  /** Reads the files. `append` may be called before it is done. */
  async open(): Promise<void> {
    await this.#fine.open();
    await this.#coarse.open();
  }

  append(timeMs: number, samples: Iterable<FlatSample>): void {
    const all = Array.isArray(samples) ? samples : [...samples];
    if (all.length === 0) return;
    this.#fine.append(timeMs, all);
    const coarse = Math.floor(timeMs / coarseStepMs);
    if (coarse === this.#lastCoarse) return;
    this.#lastCoarse = coarse;
    this.#coarse.append(timeMs, all);
  }

  appendRecent(timeMs: number, samples: Iterable<FlatSample>): void {
    this.#recent.append(timeMs, samples);
    if (this.#hasReportedRefused || !this.#recent.hadTooMany) return;
    this.#hasReportedRefused = true;
    this.#log.warn('metrics.too_many_series', { limit: recentSeriesMax, resolutionMs: secondMs });
  }

  /**
   * Reads five-minute samples for times before the oldest ten-second sample, and wherever that resolution is sufficient.
   * `enoughMs` is the sufficient sample interval.
   */
  async select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    { enoughMs = 0, visible }: { enoughMs?: number; visible?: (labels: Labels) => boolean } = {},
  ): Promise<Selection> {
    const coarseFrom = this.#coarse.startMs ?? Number.POSITIVE_INFINITY;
    const fineFrom = this.#fine.startMs ?? Number.POSITIVE_INFINITY;
    const isOlder = fromMs < fineFrom && coarseFrom < fineFrom;
    if (!isOlder && enoughMs < coarseStepMs) return this.#fine.select(matchers, fromMs, toMs, visible);
    if (enoughMs >= coarseStepMs && coarseFrom <= Math.max(fineFrom, fromMs))
      return this.#coarse.select(matchers, fromMs, toMs, visible);
    const [older, newer] = [
      await this.#coarse.select(matchers, fromMs, Math.min(fineFrom - 1, toMs), visible),
      await this.#fine.select(matchers, fromMs, toMs, visible),
    ];
    return {
      series: joined(older.series, newer.series),
      problems: [...older.problems, ...newer.problems],
    };
  }

  recent(matchers: readonly Matcher[], fromMs: number, toMs: number): Series[] {
    return this.#recent.select(matchers, fromMs, toMs);
  }

  /** Resolves once all appended samples are on disk. */
  async close(): Promise<void> {
    await this.#fine.close();
    await this.#coarse.close();
  }
}

/** The series of both, one for each set of labels. */
function joined(older: readonly Series[], newer: readonly Series[]): Series[] {
  const series = new Map(older.map((oneSeries) => [labelsKey(oneSeries.labels), oneSeries]));
  for (const oneSeries of newer) {
    const key = labelsKey(oneSeries.labels);
    const before = series.get(key);
    series.set(key, before ? { labels: oneSeries.labels, ...concatenated(before, oneSeries) } : oneSeries);
  }
  return [...series.values()];
}

function concatenated(before: Series, then: Series): Omit<Series, 'labels'> {
  const timesMs = new Float64Array(before.timesMs.length + then.timesMs.length);
  const values = new Float64Array(timesMs.length);
  timesMs.set(before.timesMs);
  values.set(before.values);
  timesMs.set(then.timesMs, before.timesMs.length);
  values.set(then.values, before.values.length);
  return { timesMs, values };
}
