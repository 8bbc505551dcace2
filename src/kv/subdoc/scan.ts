// Finds any number of paths in one pass over a JSON text, for large documents, where each pass is expensive. The results are the
// same as those of `locate` for each path.
import { Status } from '#wire/status.ts';
import { spaceEnd, nameEnd as valueAfterName } from '../value/json.ts';
import { broken, isEntry, skipValue, statusOf, tooDeep } from './locate.ts';
import { levelsMax, type PathComponent } from './path.ts';

export interface Query {
  readonly path: readonly PathComponent[];
  /** Success also if the end of the path is missing. */
  status: Status;
  isFound: boolean;
  valueStart: number;
  valueEnd: number;
  /** Number of entries, if the value is an object or array. */
  count: number;
}

export const newQuery = (path: readonly PathComponent[]): Query => ({
  path,
  status: Status.success,
  isFound: false,
  valueStart: 0,
  valueEnd: 0,
  count: 0,
});

/** Returned instead of the end of a value if the caller does not need it. */
const notNeeded = -3;

export function scan(text: Buffer, queries: readonly Query[]): void {
  visit(text, spaceEnd(text, 0, text.length), 0, queries, false);
}

/** Follows queries into the value at `at`, which is inside `level` containers; returns its end, or a negative reason. */
function visit(
  text: Buffer,
  at: number,
  level: number,
  queries: readonly Query[],
  isEndNeeded: boolean,
): number {
  const ending = queries.filter(({ path }) => path.length === level);
  const deeper = queries.filter(({ path }) => path.length > level);
  const isContainer = text[at] === 0x5b || text[at] === 0x7b;
  const isNeeded = isEndNeeded || ending.length > 0;
  const end =
    isContainer && (deeper.length > 0 || ending.length > 0)
      ? new Container(text, at, level, deeper, ending).visit(isNeeded)
      : visitScalar(text, at, level, deeper, isNeeded);
  if (isNeeded && end < 0) fail(ending, statusOf(end));
  else for (const query of ending) resolve(query, at, end);
  return end;
}

function visitScalar(
  text: Buffer,
  at: number,
  level: number,
  deeper: readonly Query[],
  isNeeded: boolean,
): number {
  fail(deeper, at < text.length ? Status.subdocPathMismatch : Status.subdocDocNotJson);
  return isNeeded ? skipValue(text, at, level) : notNeeded;
}

function resolve(query: Query, start: number, end: number): void {
  query.isFound = true;
  query.valueStart = start;
  query.valueEnd = end;
}

function fail(queries: readonly Query[], status: Status): void {
  for (const query of queries) query.status = status;
}

class Container {
  private readonly text: Buffer;
  private readonly start: number;
  private readonly level: number;
  private readonly isArray: boolean;
  /** Queries whose entry has not been reached. */
  private pending: Query[];
  /** Queries for the last entry. */
  private readonly forLast: Query[];
  /** Queries for the container itself. */
  private readonly ending: readonly Query[];

  constructor(
    text: Buffer,
    start: number,
    level: number,
    deeper: readonly Query[],
    ending: readonly Query[],
  ) {
    this.text = text;
    this.start = start;
    this.level = level;
    this.isArray = text[start] === 0x5b;
    const fits = (query: Query): boolean => (componentOf(query, level).name === null) === this.isArray;
    const isLast = (query: Query): boolean => this.isArray && componentOf(query, level).index === -1;
    fail(
      deeper.filter((query) => !fits(query)),
      Status.subdocPathMismatch,
    );
    this.pending = deeper.filter((query) => fits(query) && !isLast(query));
    this.forLast = deeper.filter((query) => fits(query) && isLast(query));
    this.ending = ending;
  }

  visit(isEndNeeded: boolean): number {
    const { text, start, level } = this;
    const mustEnd = isEndNeeded || this.forLast.length > 0;
    if (!mustEnd && this.pending.length === 0) return notNeeded;
    if (isEndNeeded && level >= levelsMax) return this.failAll(tooDeep);
    const closing = (text[start] as number) + 2;
    let count = 0;
    let last = -1;
    let next = spaceEnd(text, start + 1, text.length);
    while (next < text.length && text[next] !== closing) {
      const value = this.isArray ? next : valueAfterName(text, next, text.length);
      if (value < 0) return this.failAll(broken);
      const end = this.visitEntry(next, value, count, mustEnd);
      if (end === notNeeded) return notNeeded;
      if (end < 0) return this.failAll(end);
      last = value;
      count++;
      next = spaceEnd(text, end, text.length);
      if (text[next] === 0x2c) next = spaceEnd(text, next + 1, text.length);
      else if (text[next] !== closing) return this.failAll(broken);
    }
    if (next >= text.length) return this.failAll(broken);
    for (const query of this.ending) query.count = count;
    if (last >= 0 && this.forLast.length > 0) visit(text, last, level + 1, this.forLast, false);
    return next + 1;
  }

  private visitEntry(entry: number, value: number, count: number, mustEnd: boolean): number {
    const { level, pending, text } = this;
    if (pending.length > 0 && pending.some((query) => this.matches(query, entry, count))) {
      const matched = pending.filter((query) => this.matches(query, entry, count));
      this.pending = pending.filter((query) => !matched.includes(query));
      return visit(text, value, level + 1, matched, mustEnd || this.pending.length > 0);
    }
    return skipValue(text, value, level + 1);
  }

  private matches(query: Query, entry: number, count: number): boolean {
    return isEntry(this.text, entry, componentOf(query, this.level), count);
  }

  private failAll(end: number): number {
    fail(this.pending, statusOf(end));
    fail(this.forLast, statusOf(end));
    return end;
  }
}

const componentOf = ({ path }: Query, level: number): PathComponent => path[level] as PathComponent;
