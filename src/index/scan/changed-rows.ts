// A reader that replaces the index rows of documents that a transaction has changed.

import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { IndexDefinition, IndexScan } from '#sqlpp/datastore/indexes.ts';
import { firstIndex } from '#sqlpp/run/first-index.ts';
import { compileDefinition } from '../entries/compile-definition.ts';
import { RowMaker } from '../entries/row-maker.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import type { IndexReader, PageRequest, StoredRow } from '../store/index-store.ts';
import { pageRows } from './scan-rows.ts';

type ChangedById = ReadonlyMap<string, StoredDocument | null>;

/** The documents that a transaction has changed, and their rows in index order. */
export interface ChangedRows {
  readonly changed: ChangedById;
  readonly rows: readonly StoredRow[];
}

/** Documents whose rows are computed without a pause. */
const documentsAtOnce = 256;

class ChangedRowsReader implements IndexReader {
  private readonly reader: IndexReader;
  private readonly changed: ChangedById;
  /** In index order. */
  private readonly changedRows: readonly StoredRow[];

  constructor(reader: IndexReader, { changed, rows }: ChangedRows) {
    this.reader = reader;
    this.changed = changed;
    this.changedRows = rows;
  }

  page(interval: KeyInterval, { after, isReverse, limit }: PageRequest): StoredRow[] {
    const changedInPage = this.changedPage(interval, { after, isReverse, limit });
    // Behind as many changed rows as the page has no stored row is in the page.
    const until = changedInPage.length < limit ? undefined : changedInPage.at(isReverse ? 0 : -1);
    const stored = this.storedPage(interval, { after, isReverse, limit }, until);
    if (changedInPage.length === 0) return stored;
    const direction = isReverse ? -1 : 1;
    return [...stored, ...changedInPage].sort((a, b) => byKeyAndId(a, b) * direction).slice(0, limit);
  }

  /** The first `limit` rows of the page among those of the changed documents, in index order also for a reverse scan. */
  private changedPage(
    { start, end }: KeyInterval,
    { after, isReverse, limit }: PageRequest,
  ): readonly StoredRow[] {
    const rows = this.changedRows;
    const firstFrom = (holds: (row: StoredRow) => boolean): number =>
      firstIndex(rows.length, (index) => holds(rows[index] as StoredRow));
    let first = firstFrom(({ key }) => Buffer.compare(key, start) >= 0);
    let last = end === null ? rows.length : firstFrom(({ key }) => Buffer.compare(key, end) >= 0);
    if (after !== null && isReverse)
      last = Math.min(
        last,
        firstFrom((row) => byKeyAndId(row, after) >= 0),
      );
    else if (after !== null)
      first = Math.max(
        first,
        firstFrom((row) => byKeyAndId(row, after) > 0),
      );
    return isReverse
      ? rows.slice(Math.max(first, last - limit), Math.max(first, last))
      : rows.slice(first, Math.min(last, first + limit));
  }

  refresh(): void {
    this.reader.refresh();
  }

  close(): void {
    this.reader.close();
  }

  /** Up to `limit` stored rows of other documents; those behind the row `until` may be missing. */
  private storedPage(
    interval: KeyInterval,
    { after, isReverse, limit }: PageRequest,
    until: StoredRow | undefined,
  ): StoredRow[] {
    const others: StoredRow[] = [];
    const direction = isReverse ? -1 : 1;
    let last = after;
    let read = limit;
    for (;;) {
      const page: readonly StoredRow[] = this.reader.page(interval, { after: last, isReverse, limit: read });
      for (const row of page) if (!this.changed.has(row.id)) others.push(row);
      if (page.length < read || others.length >= limit) return others.slice(0, limit);
      last = page.at(-1) as StoredRow;
      if (until !== undefined && byKeyAndId(last, until) * direction >= 0) return others;
      // Many changed documents may follow one another: a read for each of them would take much longer.
      read = Math.max(limit, pageRows.later);
    }
  }
}

/** A reader in which rows computed from the changed documents replace their stored rows; `reader` itself if no document was changed. */
export const withChanges = (reader: IndexReader, changes: ChangedRows | null): IndexReader =>
  changes === null ? reader : new ChangedRowsReader(reader, changes);

/** Null: no document was changed. `yieldIfDue`: as in a scan, since a transaction may have changed very many documents. */
export async function changedRowsOf(
  index: IndexDefinition,
  changed: ChangedById | undefined,
  yieldIfDue: () => Promise<void> | undefined,
): Promise<ChangedRows | null> {
  if (changed === undefined || changed.size === 0) return null;
  const maker = new RowMaker(compileDefinition(index));
  const rows: StoredRow[] = [];
  let documents = 0;
  for (const [id, document] of changed) {
    if (++documents % documentsAtOnce === 0) await yieldIfDue();
    if (document === null) continue;
    const { bytes: body, isJson, cas, expiration, flags, xattrs } = document;
    const indexed = { id, body, isJson, cas, expiration, flags, xattr: (name: string) => xattrs?.get(name) };
    for (const key of maker.keysOf(indexed, Buffer.from(id))) rows.push({ key, id });
  }
  return { changed, rows: rows.sort(byKeyAndId) };
}

/** The rows of changed documents, computed once for all scans that have the same map of them: a join may scan an index for each of its rows. */
export class ChangedRowsOfScans {
  private readonly computed = new WeakMap<ChangedById, { indexId: string; rows: ChangedRows | null }>();

  async of({
    index,
    changed,
    yieldIfDue,
  }: Pick<IndexScan, 'index' | 'changed' | 'yieldIfDue'>): Promise<ChangedRows | null> {
    if (changed === undefined) return null;
    const known = this.computed.get(changed);
    if (known?.indexId === index.id) return known.rows;
    const rows = await changedRowsOf(index, changed, () => yieldIfDue?.());
    this.computed.set(changed, { indexId: index.id, rows });
    return rows;
  }
}

function byKeyAndId(left: StoredRow, right: StoredRow): number {
  return Buffer.compare(left.key, right.key) || Buffer.compare(Buffer.from(left.id), Buffer.from(right.id));
}
