// Combines several series into one at each step: sum, min, max, avg, count, and quantiles of histograms.
import type { Labels } from '../sample.ts';
import type { Aggregation, Combiner } from './plan.ts';
import { isInfinite } from './window-functions.ts';

/** The values of a series at each step of a query; `has` is 0 where there is no value. */
export interface Row {
  readonly labels: Labels;
  readonly values: Float64Array;
  readonly has: Uint8Array;
}

const boundLabel = 'le';
const nameLabel = '__name__';

export function aggregated(rows: readonly Row[], aggregation: Aggregation): Row[] {
  return aggregation.kind === 'combine' ? combine(rows, aggregation) : quantiles(rows, aggregation.share);
}

function combine(
  rows: readonly Row[],
  { combiner, keepsBound }: { combiner: Combiner; keepsBound: boolean },
): Row[] {
  return combineBy(rows, combiner, ({ le }) => (keepsBound && le !== undefined ? { le } : {}));
}

/** Groups rows by `key` of their labels and combines each group into one row with those labels. */
export function combineBy(rows: readonly Row[], combiner: Combiner, key: (labels: Labels) => Labels): Row[] {
  return groupBy(rows, key).map(({ labels, members }) => {
    const row = emptyRow(labels, members);
    for (let index = 0; index < row.has.length; index++) {
      const values: number[] = [];
      for (const member of members) if (member.has[index] === 1) values.push(member.values[index] as number);
      if (values.length > 0) put(row, index, reduce[combiner](values));
    }
    return row;
  });
}

const reduce: Record<Combiner, (values: readonly number[]) => number> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  count: (values) => values.length,
  min: (values) => values.reduce((best, value) => (value < best || Number.isNaN(best) ? value : best)),
  max: (values) => values.reduce((best, value) => (value > best || Number.isNaN(best) ? value : best)),
  avg: (values) => {
    let mean = 0;
    for (const [index, value] of values.entries()) {
      if (isInfinite(mean) && (value === mean || Number.isFinite(value))) continue;
      mean = index === 0 ? value : mean + (value / (index + 1) - mean / (index + 1));
    }
    return mean;
  },
};

interface Bucket {
  bound: number;
  count: number;
}

function quantiles(rows: readonly Row[], share: number): Row[] {
  const histograms = rows.filter(({ labels }) => boundOf(labels) !== null);
  const groups = groupBy(histograms, ({ [boundLabel]: _bound, [nameLabel]: _name, ...rest }) => rest);
  return groups.map(({ labels, members }) => {
    const row = emptyRow(labels, members);
    for (let index = 0; index < row.has.length; index++) {
      const present = members.filter(({ has }) => has[index] === 1);
      const buckets = present.map((member) => ({
        bound: boundOf(member.labels) as number,
        count: member.values[index] as number,
      }));
      if (buckets.length > 0) put(row, index, quantile(share, buckets));
    }
    return row;
  });
}

function boundOf({ le }: Labels): number | null {
  if (le === undefined || le === '') return null;
  if (le === '+Inf') return Infinity;
  const bound = Number(le);
  return Number.isNaN(bound) ? null : bound;
}

/** Interpolates linearly between two bounds. Above the highest finite bound the result is that bound. */
function quantile(share: number, unsorted: readonly Bucket[]): number {
  const buckets = monotonic(unsorted.toSorted((a, b) => a.bound - b.bound));
  const last = buckets.at(-1) as Bucket;
  if (last.bound !== Infinity || buckets.length < 2 || last.count === 0 || Number.isNaN(last.count))
    return Number.NaN;
  const rank = share * last.count;
  const found = buckets.slice(0, -1).findIndex(({ count }) => count >= rank);
  if (found < 0) return (buckets.at(-2) as Bucket).bound;
  const { bound, count } = buckets[found] as Bucket;
  if (found === 0 && bound <= 0) return bound;
  const below = buckets[found - 1] ?? { bound: 0, count: 0 };
  return below.bound + (bound - below.bound) * ((rank - below.count) / (count - below.count));
}

/** Merges duplicate bounds and makes the cumulative counts monotonic. */
function monotonic(sorted: readonly Bucket[]): Bucket[] {
  const buckets: Bucket[] = [];
  for (const { bound, count } of sorted) {
    const last = buckets.at(-1);
    if (last?.bound === bound) last.count += count;
    else buckets.push({ bound, count });
  }
  let most = -Infinity;
  for (const bucket of buckets) {
    most = Math.max(most, bucket.count);
    bucket.count = most;
  }
  return buckets;
}

function groupBy(rows: readonly Row[], key: (labels: Labels) => Labels) {
  const groups = new Map<string, { labels: Labels; members: Row[] }>();
  for (const row of rows) {
    const labels = key(row.labels);
    const text = labelsKey(labels);
    const group = groups.get(text);
    if (group) group.members.push(row);
    else groups.set(text, { labels, members: [row] });
  }
  return [...groups.values()];
}

/** A canonical text of labels, for use as a map key. */
export const labelsKey = (labels: Labels): string =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

function emptyRow(labels: Labels, [first]: readonly Row[]): Row {
  const length = first?.has.length ?? 0;
  return { labels, values: new Float64Array(length), has: new Uint8Array(length) };
}

function put({ values, has }: Row, index: number, value: number): void {
  values[index] = value;
  has[index] = 1;
}
