// The rows of an index that a scan returns.
import type { IndexRow, IndexScan } from '#sqlpp/datastore/indexes.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import type { IndexReader, StoredRow } from '../store/index-store.ts';
import type { RowDecoder } from './row-decoder.ts';

/** The most rows of the first page of an interval, and of each later page. */
export const pageRows = { first: 64, later: 1_024 } as const;

/** Selects the rows that a scan returns: accepted ones, each document once if requested, after the offset, up to the limit. */
export class ScanRows {
  answered = 0;
  private readonly decoder: RowDecoder;
  private readonly seen: Set<string> | null;
  private toSkip: number;
  private toAnswer: number;

  constructor({ offset, limit, isDistinct }: IndexScan, decoder: RowDecoder) {
    this.decoder = decoder;
    this.seen = isDistinct ? new Set() : null;
    this.toSkip = offset;
    this.toAnswer = limit;
  }

  get isDone(): boolean {
    return this.toAnswer <= 0;
  }

  /** How many rows a first page needs at most. */
  get rowsNeeded(): number {
    return this.seen !== null ? Number.POSITIVE_INFINITY : Math.max(1, this.toSkip + this.toAnswer);
  }

  /** Whether the scan needs no more than this number of rows of an interval. */
  isComplete(rows: number, { accepts }: KeyInterval): boolean {
    return accepts === null && rows >= this.rowsNeeded;
  }

  wantedRows(page: readonly StoredRow[], { accepts }: KeyInterval): IndexRow[] {
    const rows: IndexRow[] = [];
    for (const { key, id } of page) {
      if (this.isDone) break;
      if (accepts !== null && !accepts(key)) continue;
      if (this.seen !== null && !this.isNew(this.seen, id)) continue;
      if (this.toSkip > 0) {
        this.toSkip--;
        continue;
      }
      this.toAnswer--;
      rows.push({ id, keys: this.decoder.decode(key) });
    }
    this.answered += rows.length;
    return rows;
  }

  private isNew(seen: Set<string>, id: string): boolean {
    const before = seen.size;
    seen.add(id);
    return seen.size > before;
  }
}

/** Whether a scan reads no key of the interval's rows. */
export const needsIdsOnly = ({ keys }: IndexScan, { accepts }: KeyInterval): boolean =>
  keys.length === 0 && accepts === null;

/** The rows of the interval's first page, if there are no others. */
export function onePage(
  reader: IndexReader,
  interval: KeyInterval,
  scan: IndexScan,
  rows: ScanRows,
  commits: number | undefined,
): IndexRow[] | null {
  const limit = Math.min(pageRows.first, rows.rowsNeeded);
  const page = reader.page(interval, {
    after: null,
    isReverse: scan.isReverse,
    limit,
    isOnly: true,
    commits,
    idsOnly: needsIdsOnly(scan, interval),
  });
  return page.length < limit || rows.isComplete(limit, interval) ? rows.wantedRows(page, interval) : null;
}
