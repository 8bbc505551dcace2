// A read-only connection to an index file, for query threads. A scan holds one read transaction, so that it sees one
// snapshot of the index; the writer's log cannot shrink meanwhile, so the caller must `refresh` after some time.
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { KeyInterval } from '../spans/intervals.ts';
import { logBytesMax, readerCacheKib } from './file-schema.ts';
import { type IndexReader, MissingIndexFileError, type PageRequest, type StoredRow } from './index-store.ts';
import {
  type PackedIds,
  type PackedIndexRows,
  packedColumns,
  packedIdColumns,
  unpacked,
  unpackedIds,
} from './packed-rows.ts';

const busyTimeoutMs = 5_000;
/** SQLite recompiles a statement when a plain parameter of LIMIT changes, which takes longer than a short scan. */
const limitText = 'limit ? + 0';
/** From this number of rows on, one packed result is faster than a result per row. */
const packedFrom = 256;
/** How many single pages of an unchanged index are read before further ones share a snapshot. */
const unsharedPages = 16;
const noKey = Buffer.alloc(0);
/** In the text of an id in the place of bytes that are not UTF-8. */
const replacementCharacter = '\ufffd';

export class SqliteIndexReader implements IndexReader {
  private readonly path: string;
  private readonly db: DatabaseSync;
  private readonly statements = new Map<string, StatementSync>();
  /** The statements of pages, by their shape. */
  private readonly pages = new Map<number, StatementSync>();
  private isReading = false;
  /** False once a page had an id with a comma, and was therefore read twice. */
  private readsPackedIds = true;
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
    { after, isReverse, limit, isOnly = false, commits, idsOnly = false }: PageRequest,
  ): StoredRow[] {
    if (isOnly) this.beginSingle(commits);
    else this.begin();
    const values: SQLInputValue[] = [];
    const hasStart = start.length > 0 && (after === null || isReverse);
    const hasEnd = end !== null && (after === null || !isReverse);
    if (after !== null) values.push(after.key, after.idBytes ?? after.id);
    if (hasStart) values.push(start);
    if (hasEnd) values.push(end);
    values.push(limit);
    const shape = { isAfter: after !== null, hasStart, hasEnd, isReverse };
    const rows =
      limit >= packedFrom
        ? this.packedPage(shape, values, limit, idsOnly)
        : this.smallPage(shape, values, idsOnly && isOnly);
    const last = rows.at(-1);
    if (!isOnly && rows.length === limit && last?.id.includes(replacementCharacter) === true)
      rows[limit - 1] = this.lastRow(shape, values, last.id);
    return rows;
  }

  private smallPage(range: PageRange, values: readonly SQLInputValue[], needsNoKey: boolean): StoredRow[] {
    // A page of few rows that others follow has all keys, although only the last one is needed.
    const statement = this.pageStatement({ ...range, columns: needsNoKey ? 'id' : 'row' });
    const rows = statement.all(...values) as unknown[];
    if (needsNoKey) return (rows as [string][]).map(([id]) => ({ key: noKey, id }));
    return (rows as [Uint8Array, string][]).map(([k, id]) => ({
      key: Buffer.from(k.buffer, k.byteOffset, k.length),
      id,
    }));
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

  private packedPage(
    range: PageRange,
    values: readonly SQLInputValue[],
    limit: number,
    idsOnly: boolean,
  ): StoredRow[] {
    if (idsOnly && this.readsPackedIds) {
      const statement = this.pageStatement({ ...range, columns: 'packed ids' });
      const ids = unpackedIds(statement.get(...values) as unknown as PackedIds);
      if (ids !== null) return this.withLastKey(ids, range, values, limit);
      this.readsPackedIds = false;
    }
    const statement = this.pageStatement({ ...range, columns: 'packed rows' });
    return unpacked(statement.get(...values) as unknown as PackedIndexRows);
  }

  /** Rows without keys, except that of the last row of a full page, which the next page begins after. */
  private withLastKey(
    ids: readonly string[],
    range: PageRange,
    values: readonly SQLInputValue[],
    limit: number,
  ): StoredRow[] {
    const rows = ids.map((id): StoredRow => ({ key: noKey, id }));
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return rows;
    rows[rows.length - 1] = this.lastRow(range, values, last.id);
    return rows;
  }

  /** The last row of a full page. */
  private lastRow(range: PageRange, values: readonly SQLInputValue[], id: string): StoredRow {
    const statement = this.pageStatement({ ...range, columns: 'last row' });
    const [key, idBytes] = statement.get(...values) as unknown as [Uint8Array, Uint8Array];
    return { key: Buffer.from(key.buffer, key.byteOffset, key.length), id, idBytes };
  }

  private pageStatement(shape: PageShape): StatementSync {
    const { isAfter, hasStart, hasEnd, isReverse, columns } = shape;
    const bits = [isAfter, hasStart, hasEnd, isReverse];
    const number = bits.reduce((sum, bit) => 2 * sum + Number(bit), pageColumns.indexOf(columns));
    const prepared = this.pages.get(number);
    if (prepared !== undefined) return prepared;
    const statement = this.statement(pageText(shape));
    this.pages.set(number, statement);
    return statement;
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

/** The rows that a page is of; the statement has a parameter for each bound, and then the number of rows. */
interface PageRange {
  readonly isAfter: boolean;
  readonly hasStart: boolean;
  readonly hasEnd: boolean;
  readonly isReverse: boolean;
}

/** What a statement reads of a page. */
const pageColumns = ['row', 'id', 'packed rows', 'packed ids', 'last row'] as const;

interface PageShape extends PageRange {
  readonly columns: (typeof pageColumns)[number];
}

function pageText({ isAfter, hasStart, hasEnd, isReverse, columns }: PageShape): string {
  const conditions = [
    ...(isAfter ? [`(k, id) ${isReverse ? '<' : '>'} (?, cast(? as blob))`] : []),
    ...(hasStart ? ['k >= ?'] : []),
    ...(hasEnd ? ['k < ?'] : []),
  ];
  const order = isReverse ? 'order by k desc, id desc' : 'order by k, id';
  const rows = `from entry${whereText(conditions)} ${order}`;
  switch (columns) {
    case 'row':
      return `select k, cast(id as text) ${rows} ${limitText}`;
    case 'id':
      return `select cast(id as text) ${rows} ${limitText}`;
    case 'packed rows':
      return `select ${packedColumns} from (select k, id ${rows} ${limitText})`;
    case 'packed ids':
      return `select ${packedIdColumns} from (select id ${rows} ${limitText})`;
    case 'last row':
      return `select k, id ${rows} limit 1 offset ? - 1`;
  }
}

const whereText = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
