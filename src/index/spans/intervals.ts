// Converts spans to intervals of key bytes. An interval is half open: from `start` on, before `end`. Since no encoded component is a prefix
// of another, all keys that begin with a component lie between it and its successor.
import type { Bound, Span } from '#sqlpp/datastore/indexes.ts';
import { firstIndex } from '#sqlpp/run/first-index.ts';
import { KeyReader } from '../keys/key-reader.ts';
import { KeyWriter } from '../keys/key-writer.ts';

/** Bounds of a query may be longer than any key of the index, up to this limit; a longer bound is refused. */
const boundBytesMax = 64 << 20;
/** Most bounds are numbers, or strings with fewer UTF-16 units. */
const usualUnits = 1 << 10;
/** Enough for such a string: each unit takes at most three bytes. */
const usualBoundBytes = 4 << 10;
const noBytes = Buffer.alloc(0);
const noFilters: SpanInterval['filters'] = new Map();

/** The direction of a key's components, by position. */
export type KeyDirections = readonly { readonly isDescending: boolean }[];

export interface KeyInterval {
  readonly start: Buffer;
  /** null: to the end of the index. */
  readonly end: Buffer | null;
  /** Whether a key of the interval belongs to the scan; null: all do. */
  readonly accepts: ((key: Uint8Array) => boolean) | null;
}

interface ComponentRange {
  readonly start: Buffer;
  readonly end: Buffer | null;
}

export interface SpanInterval extends ComponentRange {
  /** Bounds that the interval does not express: those of positions after the first one that is not a single value. */
  readonly filters: ReadonlyMap<number, ComponentRange>;
}

/** Ascending intervals without overlaps. No spans: the whole index. */
export function intervalsOf(spans: readonly Span[], directions: KeyDirections): KeyInterval[] {
  if (spans.length === 0) return [{ start: noBytes, end: null, accepts: null }];
  if (spans.length === 1) return singleInterval(spans[0] as Span, directions);
  return mergedIntervals(spanIntervals(spans, directions), directions);
}

/** The interval of each span that can have keys. */
export function spanIntervals(spans: readonly Span[], directions: KeyDirections): SpanInterval[] {
  return spans
    .map((span) => intervalOf(span, directions))
    .filter(({ start, end }) => end === null || Buffer.compare(start, end) < 0);
}

/** Sorts the intervals of spans and merges those that overlap. */
export function mergedIntervals(intervals: SpanInterval[], directions: KeyDirections): KeyInterval[] {
  intervals.sort((left, right) => Buffer.compare(left.start, right.start));
  return groupsOf(intervals).map((group) => intervalOfGroup(group, directions));
}

/** Most scans have one span, and do not need the work for several. */
function singleInterval(span: Span, directions: KeyDirections): KeyInterval[] {
  const interval = intervalOf(span, directions);
  const { start, end, filters } = interval;
  if (end !== null && Buffer.compare(start, end) >= 0) return [];
  return [filters.size === 0 ? { start, end, accepts: null } : intervalOfGroup([interval], directions)];
}

/** The lowest key above all keys that begin with these bytes; null if there is none. */
export function successor(bytes: Buffer): Buffer | null {
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === 0xff) length--;
  if (length === 0) return null;
  const next = copyOf(bytes, length);
  next[length - 1] = (next[length - 1] as number) + 1;
  return next;
}

function intervalOf(span: Span, directions: KeyDirections): SpanInterval {
  const { ranges } = span;
  let prefix: Buffer = noBytes;
  for (let position = 0; position < ranges.length; position++) {
    const { low, high } = ranges[position] as Span['ranges'][number];
    const isDescending = directions[position]?.isDescending ?? false;
    if (isOnlyValue(low, high)) {
      prefix = appended(prefix, encoded(low, isDescending));
      continue;
    }
    const range = componentRange(low, high, isDescending);
    const single = singleValue(low, high, range);
    if (single === null) {
      const filters = filtersFrom(span, position + 1, directions);
      return { ...joined(prefix, range), filters };
    }
    prefix = appended(prefix, single);
  }
  return { start: prefix, end: successor(prefix), filters: noFilters };
}

const appended = (prefix: Buffer, bytes: Buffer): Buffer =>
  prefix.length === 0 ? bytes : Buffer.concat([prefix, bytes]);

/** Up to this many bytes are copied in a loop: the runtime's copy takes longer for them. */
const fewBytes = 64;

/** A copy of the first bytes. */
function copyOf(bytes: Buffer, length: number): Buffer {
  if (length > fewBytes) return Buffer.from(bytes.subarray(0, length));
  const copy = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at++) copy[at] = bytes[at] as number;
  return copy;
}

function joined(prefix: Buffer, { start, end }: ComponentRange): ComponentRange {
  return {
    start: appended(prefix, start),
    end: end === null ? successor(prefix) : appended(prefix, end),
  };
}

function filtersFrom(span: Span, from: number, directions: KeyDirections): Map<number, ComponentRange> {
  const filters = new Map<number, ComponentRange>();
  for (const [position, { low, high }] of span.ranges.entries()) {
    if (position < from || (low === undefined && high === undefined)) continue;
    filters.set(position, componentRange(low, high, directions[position]?.isDescending ?? false));
  }
  return filters;
}

/** Whether both bounds are the same number or string, which can be seen before either is encoded. */
const isOnlyValue = (low: Bound | undefined, high: Bound | undefined): low is Bound =>
  low?.isInclusive === true &&
  high?.isInclusive === true &&
  (typeof low.value === 'number' || typeof low.value === 'string') &&
  Object.is(low.value, high.value);

/** The encoded component if the bounds admit only one value, which may be an array or an object; otherwise null. */
function singleValue(
  low: Bound | undefined,
  high: Bound | undefined,
  { start, end }: ComponentRange,
): Buffer | null {
  if (low?.isInclusive !== true || high?.isInclusive !== true || end === null) return null;
  return successor(start)?.equals(end) === true ? start : null;
}

/** Descending components sort in reverse, so that their bounds are swapped. */
function componentRange(
  low: Bound | undefined,
  high: Bound | undefined,
  isDescending: boolean,
): ComponentRange {
  const [first, last] = isDescending ? [high, low] : [low, high];
  const start = first === undefined ? Buffer.alloc(0) : encoded(first, isDescending);
  const end = last === undefined ? null : encoded(last, isDescending);
  return {
    start: first === undefined || first.isInclusive ? start : (successor(start) ?? start),
    end: end !== null && last?.isInclusive ? successor(end) : end,
  };
}

/** Encodes all bounds of usual size; its limit keeps its buffer small. */
const boundWriter = new KeyWriter(usualBoundBytes);

function encoded(bound: Bound, isDescending: boolean): Buffer {
  const { value } = bound;
  const isUsual = typeof value === 'number' || (typeof value === 'string' && value.length < usualUnits);
  const writer = isUsual ? boundWriter : new KeyWriter(boundBytesMax);
  writer.truncate();
  writer.write(value, isDescending);
  return writer.copy();
}

/** Groups overlapping intervals of the sorted list. */
function groupsOf(intervals: readonly SpanInterval[]): SpanInterval[][] {
  const groups: SpanInterval[][] = [];
  let end: Buffer | null = Buffer.alloc(0);
  for (const interval of intervals) {
    const isAfter = end !== null && Buffer.compare(interval.start, end) >= 0;
    if (groups.length === 0 || isAfter) {
      groups.push([interval]);
      end = interval.end;
    } else {
      groups.at(-1)?.push(interval);
      end = laterEnd(end, interval.end);
    }
  }
  return groups;
}

const laterEnd = (left: Buffer | null, right: Buffer | null): Buffer | null =>
  left === null || right === null ? null : Buffer.compare(left, right) >= 0 ? left : right;

function intervalOfGroup(group: readonly SpanInterval[], directions: KeyDirections): KeyInterval {
  const start = (group[0] as SpanInterval).start;
  const end = group.map((interval) => interval.end).reduce(laterEnd);
  const isWhole = group.some((interval) => interval.filters.size === 0 && isSame(interval, { start, end }));
  if (isWhole) return { start, end, accepts: null };
  return { start, end, accepts: acceptsAny(group, new ComponentFinder(directions)) };
}

/** Returns the test whether a key is in any of the intervals. */
function acceptsAny(
  group: readonly SpanInterval[],
  components: ComponentFinder,
): (key: Uint8Array) => boolean {
  const search = group.length >= searchedFrom ? FilterSearch.of(group) : null;
  if (search === null) return (key) => group.some((interval) => accepts(interval, key, components));
  return (key) => {
    const candidates = search.find(components.encoded(key, search.position));
    return candidates.some((interval) => accepts(interval, key, components));
  };
}

/** A key is compared with each interval of a group that has fewer. */
const searchedFrom = 16;

/** The intervals of a group with the same filter at one position. */
interface SameFilter extends ComponentRange {
  readonly intervals: SpanInterval[];
}

/**
 * Finds the intervals of a group by their filters at one position. A list (`a > 0 AND b IN […]`) makes thousands of intervals: comparing each key with
 * all of them would take longer than reading the keys.
 */
class FilterSearch {
  readonly position: number;
  /** Ascending, without overlaps. */
  private readonly filters: readonly SameFilter[];

  /** null: the intervals have no filters at one position, or filters that overlap. */
  static of(group: readonly SpanInterval[]): FilterSearch | null {
    const [position = -1] = (group[0] as SpanInterval).filters.keys();
    const filters: SameFilter[] = [];
    const byStart = group
      .map((interval) => ({ interval, range: interval.filters.get(position) }))
      .sort((left, right) => Buffer.compare(left.range?.start ?? noBytes, right.range?.start ?? noBytes));
    for (const { interval, range } of byStart) {
      if (range === undefined) return null;
      const last = filters.at(-1);
      if (last !== undefined && isSame(last, range)) last.intervals.push(interval);
      else if (last === undefined || (last.end !== null && Buffer.compare(last.end, range.start) <= 0))
        filters.push({ ...range, intervals: [interval] });
      else return null;
    }
    return new FilterSearch(position, filters);
  }

  private constructor(position: number, filters: readonly SameFilter[]) {
    this.position = position;
    this.filters = filters;
  }

  /** The intervals whose filter has the component. */
  find(component: Uint8Array): readonly SpanInterval[] {
    const { filters } = this;
    const isLater = (index: number): boolean =>
      Buffer.compare((filters[index] as SameFilter).start, component) > 0;
    const found = filters[firstIndex(filters.length, isLater) - 1];
    return found !== undefined && isWithin(component, found) ? found.intervals : noIntervals;
  }
}

const noIntervals: readonly SpanInterval[] = [];

const isSame = (left: ComponentRange, right: ComponentRange): boolean =>
  left.start.equals(right.start) &&
  (left.end === null ? right.end === null : right.end?.equals(left.end) === true);

function accepts(interval: SpanInterval, key: Uint8Array, components: ComponentFinder): boolean {
  if (!isWithin(key, interval)) return false;
  for (const [position, range] of interval.filters) {
    if (!isWithin(components.encoded(key, position), range)) return false;
  }
  return true;
}

const isWithin = (bytes: Uint8Array, { start, end }: ComponentRange): boolean =>
  Buffer.compare(bytes, start) >= 0 && (end === null || Buffer.compare(bytes, end) < 0);

/** Finds a component in a key. */
class ComponentFinder {
  private readonly directions: KeyDirections;
  private readonly reader = new KeyReader();

  constructor(directions: KeyDirections) {
    this.directions = directions;
  }

  encoded(key: Uint8Array, position: number): Uint8Array {
    const reader = this.reader.reset(key);
    for (let before = 0; before < position; before++) reader.skip(this.directions[before]?.isDescending);
    const start = reader.position;
    reader.skip(this.directions[position]?.isDescending);
    return key.subarray(start, reader.position);
  }
}
