// Reads a data file page by page: each page is one short stretch of reads, so that no read holds back a checkpoint
// or a commit for long. Every row is compared with its checksum.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CutWriter } from '#kv/bucket/cut.ts';
import type { VbucketRecord } from '../engine.ts';
import { sql } from '../schema.ts';
import { readVbRow, stateOf } from '../vb-row.ts';
import { arraysOf, RowReader } from './row-reader.ts';

/** Where a page starts. Opaque to whoever pages. */
export interface LoadCursor {
  vb: number;
  afterSeqno: number;
  /** Rows of this vbucket in earlier pages. */
  rows: number;
  /** Commits of the file when this vbucket was begun. */
  commits: number;
}

export interface LoadPage {
  batch: Uint8Array<ArrayBuffer>;
  /** Null after the last page. */
  next: LoadCursor | null;
}

export const firstPage: LoadCursor = { vb: 0, afterSeqno: 0, rows: 0, commits: -1 };

/** A page ends after this many bytes or this long, whatever comes first. */
const pageTargetBytes = 1 << 20;
const pageTargetMs = 100;
/** Values in rows are small, so this many take less than a page. Reading them at once is faster than one by one. */
const rowsPerRead = 256;

export class PageReader {
  private readonly vbuckets: StatementSync;
  private readonly rows: StatementSync;
  private readonly countByKey: StatementSync;
  private readonly countBySeqno: StatementSync;
  private readonly stray: StatementSync;
  private readonly monotonicMs: () => number;
  private readonly rowReader: RowReader;

  constructor(db: DatabaseSync, monotonicMs: () => number) {
    this.vbuckets = arraysOf(db, sql.vbucketsFrom);
    this.rows = arraysOf(db, sql.rowsFrom);
    this.rowReader = new RowReader(db);
    this.countByKey = arraysOf(db, sql.countByKey);
    this.countBySeqno = arraysOf(db, sql.countBySeqno);
    this.stray = arraysOf(db, sql.strayVbuckets);
    this.monotonicMs = monotonicMs;
  }

  readVbuckets(): VbucketRecord[] {
    return (this.vbuckets.all(0) as unknown as unknown[][]).map(toRecord);
  }

  /** `commits` counts the file's commits: while it stands still, rows by seqno and rows by key must agree. */
  readPage(cursor: LoadCursor, commits: number): LoadPage {
    if (cursor.commits < 0) this.refuseStrayRows();
    const writer = new CutWriter(pageTargetBytes + (pageTargetBytes >> 3));
    const deadlineMs = this.monotonicMs() + pageTargetMs;
    const isFull = (): boolean => writer.bytes >= pageTargetBytes || this.monotonicMs() > deadlineMs;
    const at = { ...cursor };
    do {
      const row = this.vbuckets.get(at.vb) as unknown as unknown[] | undefined;
      if (row === undefined) return { batch: writer.take(), next: null };
      const record = toRecord(row);
      if (record.vb !== at.vb || at.commits < 0) startVbucket(at, record.vb, commits);
      if (this.readVbucket(record, at, writer, isFull)) {
        if (at.commits === commits) this.compareCounts(at);
        startVbucket(at, record.vb + 1, commits);
      }
    } while (!isFull());
    return { batch: writer.take(), next: at };
  }

  /** Writes the vbucket's rows after the cursor as one cut and moves the cursor. True when none are left. */
  private readVbucket(
    record: VbucketRecord,
    at: LoadCursor,
    writer: CutWriter,
    isFull: () => boolean,
  ): boolean {
    let rows = this.rowsAfter(at);
    if (rows.length === 0) return true;
    const state = stateOf(record);
    state.startSeqno = rows[0]?.[1] as number;
    writer.begin(state.failover.length);
    let isFinished = this.writeRows(rows, at, writer);
    while (!isFinished && !isFull()) {
      rows = this.rowsAfter(at);
      isFinished = this.writeRows(rows, at, writer);
    }
    state.endSeqno = at.afterSeqno;
    writer.finish(state);
    return isFinished;
  }

  /** Each call is a read transaction of its own. */
  private rowsAfter({ vb, afterSeqno }: LoadCursor): unknown[][] {
    return this.rows.all(vb, afterSeqno, rowsPerRead) as unknown as unknown[][];
  }

  /** Stops early at a full page. True when these were the last rows of the vbucket. */
  private writeRows(rows: readonly unknown[][], at: LoadCursor, writer: CutWriter): boolean {
    for (const row of rows) {
      if (writer.bytes >= pageTargetBytes) return false;
      const seqno = this.rowReader.write(at.vb, row, writer);
      if (!(seqno > at.afterSeqno)) throw new Error(`vbucket ${at.vb} is out of order at seqno ${seqno}`);
      at.afterSeqno = seqno;
      at.rows++;
    }
    return rows.length < rowsPerRead;
  }

  /** A row that either tree has lost, or files under another vbucket, is passed over in silence by the join of both. */
  private compareCounts(at: LoadCursor): void {
    const [byKey] = this.countByKey.get(at.vb) as unknown as [number];
    const [bySeqno] = this.countBySeqno.get(at.vb) as unknown as [number];
    if (byKey === at.rows && bySeqno === at.rows) return;
    throw new Error(`vbucket ${at.vb} has ${byKey} rows by key, ${bySeqno} by seqno, ${at.rows} by both`);
  }

  private refuseStrayRows(): void {
    const stray = this.stray.get() as unknown as [number] | undefined;
    if (stray !== undefined) throw new Error(`vbucket ${stray[0]} has rows but no state`);
  }
}

function toRecord(row: readonly unknown[]): VbucketRecord {
  const record = readVbRow(row);
  if (record === null) throw new Error(`the state of vbucket ${String(row[0])} differs from its checksum`);
  return record;
}

function startVbucket(at: LoadCursor, vb: number, commits: number): void {
  at.vb = vb;
  at.afterSeqno = 0;
  at.rows = 0;
  at.commits = commits;
}
