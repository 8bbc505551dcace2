// What is measured, as plain data: whoever measures offers samples, the store keeps them, queries and exports read them.

export type Labels = Readonly<Record<string, string>>;

/** How often a value was at most each bound; `counts` are cumulative and have one more entry, for all of them. */
export interface HistogramValue {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

interface Named {
  readonly name: string;
  /** Without the name. A metric of one bucket has `bucket`; `scope` and `collection` likewise. */
  readonly labels: Labels;
}

/** One value of one series at the moment of collecting. A counter only grows, or begins again at zero. */
export type MetricSample =
  | (Named & { readonly kind: 'counter' | 'gauge'; readonly value: number })
  | (Named & { readonly kind: 'histogram'; readonly value: HistogramValue });

/** Somebody who measures. Called at most once a second, on the main thread; it answers what is counted anyway. */
export interface MetricsSource {
  collect(): Iterable<MetricSample> | Promise<Iterable<MetricSample>>;
}

/** One series of plain numbers; histograms are several: `_bucket` with `le`, `_sum` and `_count`. */
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

/** Samples of one series in the order of time, at most one for a moment. */
export interface Series {
  /** With `__name__`. */
  readonly labels: Labels;
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
}

/** What was found; `problems` tells of files that could not be read, whose samples are missing. */
export interface Selection {
  readonly series: readonly Series[];
  readonly problems: readonly string[];
}

/** The node's own time series. */
export interface MetricsStore {
  /** Keeps samples of one moment, later than any before. */
  append(timeMs: number, samples: Iterable<FlatSample>): void;
  /** Series that match all conditions and have samples in this time, both ends included. */
  select(matchers: readonly Matcher[], fromMs: number, toMs: number): Promise<Selection>;
  /** The same from the last minutes, sampled each second and held in memory only. */
  recent(matchers: readonly Matcher[], fromMs: number, toMs: number): readonly Series[];
}
