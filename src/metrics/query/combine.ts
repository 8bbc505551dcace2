// Combines several series into one at each step: sum, min, max, avg, count, and quantiles of histograms. Works in slices: the generators
// yield 0 after at most a millisecond of work, as `evaluateInSlices` does, so that the caller can pause.
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

export type Slices<T> = Generator<number, T>;

/** The key of a row's labels is made so often between two yields. */
const rowsPerSlice = 256;
/** So many values are combined between two yields. */
const valuesPerSlice = 4_096;

export function aggregated(rows: readonly Row[], aggregation: Aggregation): Slices<Row[]> {
  return aggregation.kind === 'combine' ? combine(rows, aggregation) : quantiles(rows, aggregation.share);
}

function combine(
  rows: readonly Row[],
  { combiner, keepsBound }: { combiner: Combiner; keepsBound: boolean },
): Slices<Row[]> {
  return combineBy(rows, combiner, ({ le }) => (keepsBound && le !== undefined ? { le } : {}));
}

/** Groups rows by `key` of their labels and combines each group into one row with those labels. */
export function* combineBy(
  rows: readonly Row[],
  combiner: Combiner,
  key: (labels: Labels) => Labels,
): Slices<Row[]> {
  return yield* combineGroups(yield* groupBy(rows, key), (members, index) => {
    const values: number[] = [];
    for (const member of members) if (member.has[index] === 1) values.push(member.values[index] as number);
    return values.length === 0 ? undefined : reduce[combiner](values);
  });
}

/** `combineAt`: the value of a group at a step; undefined: none. */
function* combineGroups(
  groups: readonly Group[],
  combineAt: (members: readonly Row[], index: number) => number | undefined,
): Slices<Row[]> {
  const combined: Row[] = [];
  let values = 0;
  for (const { labels, members } of groups) {
    const row = emptyRow(labels, members);
    for (let index = 0; index < row.has.length; index++) {
      values += members.length;
      if (values >= valuesPerSlice) {
        yield 0;
        values = 0;
      }
      const value = combineAt(members, index);
      if (value !== undefined) put(row, index, value);
    }
    combined.push(row);
  }
  return combined;
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

function* quantiles(rows: readonly Row[], share: number): Slices<Row[]> {
  const histograms = rows.filter(({ labels }) => boundOf(labels) !== null);
  const groups = yield* groupBy(histograms, ({ [boundLabel]: _bound, [nameLabel]: _name, ...rest }) => rest);
  return yield* combineGroups(groups, (members, index) => {
    const buckets = bucketsAt(members, index);
    return buckets.length === 0 ? undefined : quantile(share, buckets);
  });
}

/** The buckets of a histogram, with the counts of equal bounds added: many nodes and collections have the same bounds. */
function bucketsAt(members: readonly Row[], index: number): Bucket[] {
  const counts = new Map<number, number>();
  for (const { labels, values, has } of members) {
    if (has[index] !== 1) continue;
    const bound = boundOf(labels) as number;
    const value = values[index] as number;
    const before = counts.get(bound);
    counts.set(bound, before === undefined ? value : before + value);
  }
  return [...counts].map(([bound, count]) => ({ bound, count }));
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

/** Makes the cumulative counts monotonic. */
function monotonic(sorted: readonly Bucket[]): Bucket[] {
  let most = -Infinity;
  return sorted.map(({ bound, count }) => {
    most = Math.max(most, count);
    return { bound, count: most };
  });
}

interface Group {
  readonly labels: Labels;
  readonly members: Row[];
}

function* groupBy(rows: readonly Row[], key: (labels: Labels) => Labels): Slices<Group[]> {
  const groups = new Map<string, Group>();
  for (const [index, row] of rows.entries()) {
    if (index % rowsPerSlice === 0) yield 0;
    const labels = key(row.labels);
    const text = labelsKey(labels);
    const group = groups.get(text);
    if (group) group.members.push(row);
    else groups.set(text, { labels, members: [row] });
  }
  return [...groups.values()];
}

/** Rows with different labels, by the canonical text of these. */
export function* keyed(rows: readonly Row[]): Slices<Map<string, Row>> {
  const byKey = new Map<string, Row>();
  for (const [index, row] of rows.entries()) {
    if (index % rowsPerSlice === 0) yield 0;
    byKey.set(labelsKey(row.labels), row);
  }
  return byKey;
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
