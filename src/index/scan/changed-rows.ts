// A reader that replaces the index rows of documents that a transaction has changed.

import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { compileDefinition } from '../entries/compile-definition.ts';
import { RowMaker } from '../entries/row-maker.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import type { IndexReader, Page, StoredRow } from '../store/index-store.ts';

type ChangedById = ReadonlyMap<string, StoredDocument | null>;

const countPageRows = 1_024;

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

  page(interval: KeyInterval, { after, isReverse, limit }: Page): StoredRow[] {
    const stored = this.storedPage(interval, { after, isReverse, limit });
    const direction = isReverse ? -1 : 1;
    const changedInPage = this.changedRows.filter(
      (row) => isWithin(row, interval) && (after === null || byKeyAndId(row, after) * direction > 0),
    );
    if (changedInPage.length === 0) return stored;
    return [...stored, ...changedInPage].sort((a, b) => byKeyAndId(a, b) * direction).slice(0, limit);
  }

  count(interval: KeyInterval): number {
    let count = 0;
    for (const { key } of this.all(interval)) count += Number(interval.accepts?.(key) ?? true);
    return count;
  }

  countDistinct(intervals: readonly KeyInterval[]): number {
    const seen = new Set<string>();
    for (const interval of intervals)
      for (const { key, id } of this.all(interval)) if (interval.accepts?.(key) ?? true) seen.add(id);
    return seen.size;
  }

  refresh(): void {
    this.reader.refresh();
  }

  close(): void {
    this.reader.close();
  }

  /** Up to `limit` stored rows of other documents. */
  private storedPage(interval: KeyInterval, { after, isReverse, limit }: Page): StoredRow[] {
    const others: StoredRow[] = [];
    let last = after;
    for (;;) {
      const page: readonly StoredRow[] = this.reader.page(interval, { after: last, isReverse, limit });
      for (const row of page) if (!this.changed.has(row.id)) others.push(row);
      if (page.length < limit || others.length >= limit) return others.slice(0, limit);
      last = page.at(-1) as StoredRow;
    }
  }

  private *all(interval: KeyInterval): Iterable<StoredRow> {
    let after: StoredRow | null = null;
    for (;;) {
      const page: StoredRow[] = this.page(interval, { after, isReverse: false, limit: countPageRows });
      yield* page;
      if (page.length < countPageRows) return;
      after = page.at(-1) as StoredRow;
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

const isWithin = ({ key }: StoredRow, { start, end }: KeyInterval): boolean =>
  Buffer.compare(key, start) >= 0 && (end === null || Buffer.compare(key, end) < 0);
