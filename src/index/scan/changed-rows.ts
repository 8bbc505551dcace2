// A reader that replaces the index rows of documents that a transaction has changed.

import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { firstIndex } from '#sqlpp/run/first-index.ts';
import { compileDefinition } from '../entries/compile-definition.ts';
import { RowMaker } from '../entries/row-maker.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import type { IndexReader, PageRequest, StoredRow } from '../store/index-store.ts';

type ChangedById = ReadonlyMap<string, StoredDocument | null>;

class ChangedRowsReader implements IndexReader {
  private readonly reader: IndexReader;
  private readonly changed: ChangedById;
  /** In index order. */
  private readonly changedRows: readonly StoredRow[];

  constructor(reader: IndexReader, index: IndexDefinition, changed: ChangedById) {
    this.reader = reader;
    this.changed = changed;
    this.changedRows = rowsOf(index, changed).sort(byKeyAndId);
  }

  page(interval: KeyInterval, { after, isReverse, limit }: PageRequest): StoredRow[] {
    const stored = this.storedPage(interval, { after, isReverse, limit });
    const changedInPage = this.changedPage(interval, { after, isReverse, limit });
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

  /** Up to `limit` stored rows of other documents. */
  private storedPage(interval: KeyInterval, { after, isReverse, limit }: PageRequest): StoredRow[] {
    const others: StoredRow[] = [];
    let last = after;
    for (;;) {
      const page: readonly StoredRow[] = this.reader.page(interval, { after: last, isReverse, limit });
      for (const row of page) if (!this.changed.has(row.id)) others.push(row);
      if (page.length < limit || others.length >= limit) return others.slice(0, limit);
      last = page.at(-1) as StoredRow;
    }
  }
}

/** A reader in which rows computed from the changed documents replace their stored rows; `reader` itself if no document was changed. */
export const withChanges = (
  reader: IndexReader,
  index: IndexDefinition,
  changed: ChangedById | undefined,
): IndexReader =>
  changed === undefined || changed.size === 0 ? reader : new ChangedRowsReader(reader, index, changed);

function rowsOf(index: IndexDefinition, changed: ChangedById): StoredRow[] {
  const maker = new RowMaker(compileDefinition(index));
  return [...changed].flatMap(([id, document]) => {
    if (document === null) return [];
    const { bytes: body, isJson, cas, expiration, flags, xattrs } = document;
    const indexed = { id, body, isJson, cas, expiration, flags, xattr: (name: string) => xattrs?.get(name) };
    return maker.keysOf(indexed, Buffer.from(id)).map((key) => ({ key, id }));
  });
}

function byKeyAndId(left: StoredRow, right: StoredRow): number {
  return Buffer.compare(left.key, right.key) || Buffer.compare(Buffer.from(left.id), Buffer.from(right.id));
}
