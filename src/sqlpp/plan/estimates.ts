// Estimates how many rows an index scan returns, and what that costs, from the statistics of UPDATE STATISTICS. Values of parameters are
// not used: a plan would be made again for each of them.
import type { CollectionStatistics, ExpressionStatistics } from '../datastore/statistics.ts';
import type { Expression } from '../tree/expression.ts';
import { unboundKeys } from './index-keys.ts';
import type { IndexMatch } from './index-match.ts';
import type { PlanningContext } from './planning.ts';
import { isEverything, isPoint, type PlanRange } from './spans.ts';
import { distributionName } from './statistics-keys.ts';

export interface Estimate {
  /** The number of rows that the scan returns. */
  readonly cardinality: number;
  /** Microseconds of processor time. */
  readonly cost: number;
  /** Cost of the scan alone, without reading documents. */
  readonly scanCost: number;
}

/** Microseconds of processor time, from `npm run bench -- query`: a row of a covering range, and reading a document by its key. */
const entryCost = 1.3;
const fetchCost = 4;
/** Assumed shares of the values, and an assumed length of lists, for predicates whose values are not known. */
const assumedRangeShare = 1 / 3;
const assumedPointShare = 0.1;
const assumedListItems = 10;

/** Undefined: the leading key has no statistics. */
export function estimateOf(
  planning: PlanningContext,
  { index, spans }: IndexMatch,
  isCovering: boolean,
  statistics: CollectionStatistics,
): Estimate | undefined {
  const keys = unboundKeys(planning, index.definition).map((expression) =>
    statistics.get(distributionName(expression)),
  );
  const [leading] = keys;
  if (!leading) return undefined;
  const perSpan = spans.map(({ ranges }) => rowsPerDocument(planning, ranges, keys));
  const perDocument = spans.length === 0 ? leading.perDocument : sum(perSpan);
  const rowsMax = leading.documents * Math.max(leading.perDocument, 1);
  const cardinality = Math.min(leading.documents * perDocument, rowsMax);
  const scanCost = cardinality * entryCost;
  return { cardinality, scanCost, cost: isCovering ? scanCost : scanCost + cardinality * fetchCost };
}

/** Rows of a span per document of the collection. Keys are taken as independent of each other. */
function rowsPerDocument(
  planning: PlanningContext,
  ranges: readonly PlanRange[],
  keys: readonly (ExpressionStatistics | undefined)[],
): number {
  let rows = keys[0]?.perDocument ?? 1;
  ranges.forEach((range, at) => {
    const known = keys[at];
    if (isEverything(range)) return;
    const perDocument = at === 0 ? 1 : (known?.perDocument ?? 1);
    rows *= perDocument * (known ? rangeShare(planning, range, known) : assumedShare(range));
  });
  return rows;
}

function assumedShare(range: PlanRange): number {
  if (range.kind === 'each') return Math.min(1, assumedPointShare * assumedListItems);
  if (range.kind === 'like') return assumedPointShare;
  return isPoint(range) ? assumedPointShare : assumedRangeShare;
}

/** The share of the expression's values that lie in the range. */
function rangeShare(planning: PlanningContext, range: PlanRange, known: ExpressionStatistics): number {
  const shareOfOneValue = 1 / Math.max(1, known.documents * Math.max(known.perDocument, 1));
  const values = new ValueShares(planning, known);
  return Math.min(1, Math.max(shareOfOneValue, computedShare(planning, range, known, values)));
}

/** As `rangeShare`, without its limits. */
function computedShare(
  planning: PlanningContext,
  range: PlanRange,
  known: ExpressionStatistics,
  values: ValueShares,
): number {
  const typical = 1 / Math.max(1, known.distinct);
  switch (range.kind) {
    case 'each': {
      const list = literalOf(planning, range.list)?.value;
      if (!Array.isArray(list)) return typical * assumedListItems;
      return sum(list.map((value) => values.equalTo(value)));
    }
    case 'like': {
      const prefix = prefixOf(literalOf(planning, range.pattern)?.value);
      if (prefix === undefined) return assumedPointShare;
      return values.below(`${prefix}\u{10ffff}`, true) - values.below(prefix, false);
    }
    case 'range': {
      const low = range.low && literalOf(planning, range.low.value);
      const high = range.high && literalOf(planning, range.high.value);
      const isOnePoint = isPoint(range) || (low && high && planning.compare(low.value, high.value) === 0);
      if (isOnePoint) return low ? values.equalTo(low.value) : typical;
      let share = 1;
      if (range.high) share = high ? values.below(high.value, range.high.isInclusive) : assumedRangeShare;
      if (!range.low) return share;
      return low ? share - values.below(low.value, !range.low.isInclusive) : share * assumedRangeShare;
    }
  }
}

/** The part of a LIKE pattern before its first wildcard. */
function prefixOf(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string') return undefined;
  const end = pattern.search(/[%_\\]/);
  return end < 0 ? pattern : pattern.slice(0, end);
}

/** The value of a bound that the statement contains; undefined for those with parameters. */
function literalOf(planning: PlanningContext, node: Expression): { readonly value: unknown } | undefined {
  const isParameter = node.kind === 'named parameter' || node.kind === 'positional parameter';
  return isParameter ? undefined : planning.constantOf(node);
}

/** The shares that values of an expression have among all its values, by its statistics. */
class ValueShares {
  readonly #planning: PlanningContext;
  readonly #statistics: ExpressionStatistics;

  constructor(planning: PlanningContext, statistics: ExpressionStatistics) {
    this.#planning = planning;
    this.#statistics = statistics;
  }

  equalTo(value: unknown): number {
    const bin = this.#statistics.bins.find(({ upTo }) => this.#planning.compare(value, upTo) <= 0);
    return bin ? bin.share / Math.max(1, bin.distinct) : 0;
  }

  /** The share of the values below the value, and with `isInclusive` equal to it. */
  below(value: unknown, isInclusive: boolean): number {
    const { bins } = this.#statistics;
    let share = 0;
    for (const [at, bin] of bins.entries()) {
      const order = this.#planning.compare(bin.upTo, value);
      if (order < 0) share += bin.share;
      else if (order === 0) return share + bin.share * (isInclusive ? 1 : 1 - 1 / Math.max(1, bin.distinct));
      else return share + bin.share * shareBelow(bins[at - 1]?.upTo, bin.upTo, value);
    }
    return share;
  }
}

/** The share of the values of a bin (above `from`, up to `upTo`) below the value. Numbers are taken as evenly distributed within a bin; of other values half lies below. */
function shareBelow(from: unknown, upTo: unknown, value: unknown): number {
  if (typeof from !== 'number' || typeof upTo !== 'number' || typeof value !== 'number') return 1 / 2;
  return upTo > from ? Math.min(1, Math.max(0, (value - from) / (upTo - from))) : 1 / 2;
}

const sum = (shares: readonly number[]): number => shares.reduce((total, share) => total + share, 0);
