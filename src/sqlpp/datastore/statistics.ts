// Statistics of a collection, which UPDATE STATISTICS gathers. Plain JSON data: the query service stores them, the planner estimates with them.

/** A JSON value, shortened if it is long. */
export type SampleValue = unknown;

/** Values above the previous bin's `upTo`, up to its own, in collation order. */
export interface StatisticsBin {
  readonly upTo: SampleValue;
  /** The share of all values, 0 to 1. */
  readonly share: number;
  /** How many different values of this bin the collection has. */
  readonly distinct: number;
}

export interface ExpressionStatistics {
  /** Canonical text of the expression over the document; of an array key with `distinct` or `all`. */
  readonly expression: string;
  /** Documents in the collection when the statistics were gathered. */
  readonly documents: number;
  /** Documents whose values were read. */
  readonly sampled: number;
  /** Averages of the sampled documents: the length of the document's key, and of its body. Absent in statistics of earlier versions. */
  readonly keyBytes?: number;
  readonly documentBytes?: number;
  /** Values that are not MISSING, for each document; of an array key, elements. */
  readonly perDocument: number;
  /** The number of different values in the collection. */
  readonly distinct: number;
  /** Percent of the values in one bin. */
  readonly resolution: number;
  /** Milliseconds since 1970. */
  readonly gatheredMs: number;
  readonly bins: readonly StatisticsBin[];
}

/** By `expression`. */
export type CollectionStatistics = ReadonlyMap<string, ExpressionStatistics>;
