// Types shared by sources, store, queries and exports: samples, series, label matchers.

export type Labels = Readonly<Record<string, string>>;

/** A cumulative histogram: `counts[i]` is the number of values up to `bounds[i]`; the last of `counts` is the total. */
export interface HistogramValue {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

interface Named {
  readonly name: string;
  /** Without `__name__`. Metrics of a bucket have the label `bucket`, of a scope or collection also `scope` and `collection`. */
  readonly labels: Labels;
}

/** One value of one series at the time of collection. A counter only grows or restarts at zero. */
export type MetricSample =
  | (Named & { readonly kind: 'counter' | 'gauge'; readonly value: number })
  | (Named & { readonly kind: 'histogram'; readonly value: HistogramValue });

/** A source of samples. `collect` is called at most once per second, on the main thread, and only reads existing counters. */
export interface MetricsSource {
  collect(): Iterable<MetricSample> | Promise<Iterable<MetricSample>>;
}

/** One value of one plain series. A histogram expands to several: `_bucket` with `le`, `_sum` and `_count`. */
export interface FlatSample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

export type MatchOperator = '=' | '!=' | '=~' | '!~';

/** A condition on one label; the name of the metric is the label `__name__`. Patterns match whole values. */
export interface Matcher {
  readonly label: string;
  readonly operator: MatchOperator;
  readonly value: string;
}

/** Samples of one series in time order, at most one per timestamp. */
export interface Series {
  /** Includes `__name__`. */
  readonly labels: Labels;
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
}

/** The result of a read; `problems` names files that could not be read, whose samples are missing. */
export interface Selection {
  readonly series: readonly Series[];
  readonly problems: readonly string[];
}

/** The time series of this node. */
export interface MetricsStore {
  /** Stores samples with one timestamp, later than all before. */
  append(timeMs: number, samples: Iterable<FlatSample>): void;
  /** Reads the series that match all conditions and have samples in the interval (both ends included). */
  select(matchers: readonly Matcher[], fromMs: number, toMs: number): Promise<Selection>;
  /** As `select`, for the last minutes, which are kept in memory: sampled every second while clients work or read them, else every ten seconds. */
  recent(matchers: readonly Matcher[], fromMs: number, toMs: number): readonly Series[];
}
