// A read-only connection to an index file, for query threads. A scan holds one read transaction, so that it sees one
// snapshot of the index; the writer's log cannot shrink meanwhile, so the caller must `refresh` after some time.
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { KeyInterval } from '../spans/intervals.ts';
import { logBytesMax, readerCacheKib } from './file-schema.ts';
import { type IndexReader, MissingIndexFileError, type Page, type StoredRow } from './index-store.ts';
import { type PackedIndexRows, packedColumns, unpacked } from './packed-rows.ts';

const busyTimeoutMs = 5_000;
/** SQLite recompiles a statement when a plain parameter of LIMIT changes, which takes longer than a short scan. */
const limitText = 'limit ? + 0';
/** From this number of rows on, one packed result is faster than a result per row. */
const packedFrom = 256;
/** How many single pages of an unchanged index are read before further ones share a snapshot. */
const unsharedPages = 16;
/** Rows per page of a count that checks each key. */
const countPageRows = 1_024;
const noKey = Buffer.alloc(0);

export class SqliteIndexReader implements IndexReader {
  private readonly path: string;
  private readonly db: DatabaseSync;
  private readonly statements = new Map<string, StatementSync>();
  /** The statements of pages, by their shape. */
  private readonly pages = new Map<number, StatementSync>();
  private isReading = false;
  /** The commits of the index before the last single page, and how many single pages followed the first one with that number. */
  private commits: number | undefined;
  private singlePages = 0;

  constructor(path: string) {
    if (!existsSync(path)) throw new MissingIndexFileError(`${path} does not exist`);
    this.path = path;
    this.db = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
    this.db.exec(`pragma cache_size = -${readerCacheKib}; pragma temp_store = file`);
  }

  page(
    { start, end }: KeyInterval,
    { after, isReverse, limit, isOnly = false, commits, idsOnly = false }: Page,
  ): StoredRow[] {
    if (isOnly) this.beginSingle(commits);
    else this.begin();
    const values: SQLInputValue[] = [];
    const hasStart = start.length > 0 && (after === null || isReverse);
    const hasEnd = end !== null && (after === null || !isReverse);
    if (after !== null) values.push(after.key, after.id);
    if (hasStart) values.push(start);
    if (hasEnd) values.push(end);
    values.push(limit);
    const isPacked = limit >= packedFrom;
    const shape = { isAfter: after !== null, hasStart, hasEnd, isReverse, isPacked, idsOnly };
    const statement = this.pageStatement(shape);
    if (isPacked) return unpacked(statement.get(...values) as unknown as PackedIndexRows);
    const rows = statement.all(...values) as unknown[];
    if (idsOnly) return (rows as [string][]).map(([id]) => ({ key: noKey, id }));
    return (rows as [Uint8Array, string][]).map(([k, id]) => ({
      key: Buffer.from(k.buffer, k.byteOffset, k.length),
      id,
    }));
  }

  private pageStatement(shape: PageShape): StatementSync {
    const { isAfter, hasStart, hasEnd, isReverse, isPacked, idsOnly } = shape;
    const bits = [isAfter, hasStart, hasEnd, isReverse, isPacked, idsOnly];
    const number = bits.reduce((sum, bit) => 2 * sum + Number(bit), 0);
    const prepared = this.pages.get(number);
    if (prepared !== undefined) return prepared;
    const statement = this.statement(pageText(shape));
    this.pages.set(number, statement);
    return statement;
  }

  count(interval: KeyInterval): number {
    if (interval.accepts !== null) return this.countAccepted(interval);
    this.begin();
    const [text, values] = withinOf(interval);
    return Number(this.valueOf(`select count(*) from entry${text}`, values));
  }

  /** Counts documents with a row in any of the intervals. SQLite stores the ids seen, on disk if there are many. */
  countDistinct(intervals: readonly KeyInterval[]): number {
    this.begin();
    const parts = intervals.map(withinOf);
    this.db.function('accepts', (at, k) => Number(intervals[Number(at)]?.accepts?.(k as never) ?? true));
    const selects = parts.map(([text], at) => {
      const isFiltered = intervals[at]?.accepts !== null;
      const filter = isFiltered ? `${text === '' ? ' where' : ' and'} accepts(${at}, k)` : '';
      return `select id from entry${text}${filter}`;
    });
    const values = parts.flatMap(([, bound]) => bound);
    return Number(this.valueOf(`select count(distinct id) from (${selects.join(' union all ')})`, values));
  }

  refresh(): void {
    if (!this.isReading) return;
    this.isReading = false;
    this.singlePages = 0;
    this.statement('commit').run();
  }

  close(): void {
    if (this.db.isOpen) this.db.close();
  }

  private countAccepted(interval: KeyInterval): number {
    let count = 0;
    let after: StoredRow | null = null;
    for (;;) {
      const rows: StoredRow[] = this.page(interval, { after, isReverse: false, limit: countPageRows });
      for (const { key } of rows) count += Number(interval.accepts?.(key));
      after = rows.at(-1) ?? null;
      if (rows.length < countPageRows) return count;
    }
  }

  private valueOf(text: string, values: readonly SQLInputValue[]): unknown {
    const row = this.statement(text).get(...values) as unknown as unknown[];
    return row[0];
  }

  /** Begins no transaction, which takes as long as a page, unless many single pages of the same state are read. */
  private beginSingle(commits: number | undefined): void {
    if (commits === undefined || commits !== this.commits) {
      this.refresh();
      this.commits = commits;
      this.singlePages = 0;
    } else if (++this.singlePages === unsharedPages && !this.isLogLong) this.begin();
  }

  /** The writer cannot start its log anew while a snapshot is held. */
  private get isLogLong(): boolean {
    return (statSync(`${this.path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > logBytesMax;
  }

  private begin(): void {
    if (this.isReading) return;
    this.statement('begin').run();
    this.isReading = true;
  }

  private statement(text: string): StatementSync {
    let statement = this.statements.get(text);
    if (statement === undefined) {
      statement = this.db.prepare(text);
      statement.setReturnArrays(true);
      this.statements.set(text, statement);
    }
    return statement;
  }
}

interface PageShape {
  readonly isAfter: boolean;
  readonly hasStart: boolean;
  readonly hasEnd: boolean;
  readonly isReverse: boolean;
  readonly isPacked: boolean;
  readonly idsOnly: boolean;
}

function pageText({ isAfter, hasStart, hasEnd, isReverse, isPacked, idsOnly }: PageShape): string {
  const conditions = [
    ...(isAfter ? [`(k, id) ${isReverse ? '<' : '>'} (?, cast(? as blob))`] : []),
    ...(hasStart ? ['k >= ?'] : []),
    ...(hasEnd ? ['k < ?'] : []),
  ];
  const order = isReverse ? 'order by k desc, id desc' : 'order by k, id';
  const part = `from entry${whereText(conditions)} ${order} ${limitText}`;
  if (isPacked) return `select ${packedColumns} from (select k, id ${part})`;
  return `select ${idsOnly ? '' : 'k, '}cast(id as text) ${part}`;
}

function withinOf({ start, end }: KeyInterval): [string, SQLInputValue[]] {
  const conditions = [...(start.length > 0 ? ['k >= ?'] : []), ...(end !== null ? ['k < ?'] : [])];
  return [whereText(conditions), [...(start.length > 0 ? [start] : []), ...(end !== null ? [end] : [])]];
}

const whereText = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
