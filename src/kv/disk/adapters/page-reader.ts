// Reads a data file page by page: each page is one short stretch of reads, so that no read holds back a checkpoint
// or a commit for long. Every row is compared with its checksum.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { type CutItem, type CutState, CutWriter } from '#kv/bucket/cut.ts';
import type { VbucketRecord } from '../engine.ts';
import { metaBytes, readMeta } from '../row.ts';
import { sql } from '../schema.ts';
import { readVbRow, stateOf } from '../vb-row.ts';

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
const rowsPerClockRead = 64;

export class PageReader {
  private readonly vbuckets: StatementSync;
  private readonly rows: StatementSync;
  private readonly countByKey: StatementSync;
  private readonly countBySeqno: StatementSync;
  private readonly stray: StatementSync;
  private readonly monotonicMs: () => number;
  private readonly item: CutItem = {
    buffer: Buffer.alloc(0),
    keyStart: 0,
    keyEnd: 0,
    valueStart: 0,
    valueEnd: 0,
    seqno: 0,
    casHi: 0,
    casLo: 0,
    rev: 0,
    flags: 0,
    expiry: 0,
    datatype: 0,
    bits: 0,
  };

  constructor(db: DatabaseSync, monotonicMs: () => number) {
    const arrays = (text: string): StatementSync => {
      const statement = db.prepare(text);
      statement.setReturnArrays(true);
      return statement;
    };
    this.vbuckets = arrays(sql.vbucketsFrom);
    this.rows = arrays(sql.rowsFrom);
    this.countByKey = arrays(sql.countByKey);
    this.countBySeqno = arrays(sql.countBySeqno);
    this.stray = arrays(sql.strayVbuckets);
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
    const at = { ...cursor };
    for (;;) {
      const row = this.vbuckets.get(at.vb) as unknown as unknown[] | undefined;
      if (row === undefined) return { batch: writer.take(), next: null };
      const record = toRecord(row);
      if (record.vb !== at.vb || at.commits < 0) startVbucket(at, record.vb, commits);
      if (!this.readVbucket(record, at, writer, deadlineMs)) return { batch: writer.take(), next: at };
      if (at.commits === commits) this.compareCounts(at);
      startVbucket(at, record.vb + 1, commits);
    }
  }

  /** Writes the vbucket's rows after the cursor as one cut and moves the cursor. True when none are left. */
  private readVbucket(record: VbucketRecord, at: LoadCursor, writer: CutWriter, deadlineMs: number): boolean {
    const state = stateOf(record);
    let finished = true;
    let isOpen = false;
    for (const row of this.rows.iterate(at.vb, at.afterSeqno)) {
      if (writer.bytes >= pageTargetBytes || this.isLate(at.rows, deadlineMs)) {
        finished = false;
        break;
      }
      if (!isOpen) writer.begin(state.failover.length);
      isOpen = true;
      this.writeRow(at, row as unknown as unknown[], writer);
      state.startSeqno ||= this.item.seqno;
      at.afterSeqno = this.item.seqno;
      at.rows++;
    }
    if (isOpen) writer.finish(endedAt(state, at.afterSeqno));
    return finished;
  }

  private isLate(rows: number, deadlineMs: number): boolean {
    return rows % rowsPerClockRead === rowsPerClockRead - 1 && this.monotonicMs() > deadlineMs;
  }

  private writeRow({ vb, afterSeqno }: LoadCursor, row: readonly unknown[], writer: CutWriter): void {
    const [key, seqno, expiry, deletedAt, meta, value] = row;
    const { item } = this;
    if (!isBytes(key) || !isBytes(meta) || meta.length !== metaBytes || !isBytes(value)) {
      throw new Error(`the row at vbucket ${vb}, seqno ${String(seqno)} is incomplete`);
    }
    const checksum = readMeta(meta, item);
    if (!((seqno as number) > afterSeqno)) throw new Error(`vbucket ${vb} is out of order at seqno ${seqno}`);
    item.seqno = seqno as number;
    item.expiry = (deletedAt ?? expiry) as number;
    writer.itemOf(item, key, value);
    if (crc32(writer.lastItem(), vb) === checksum) return;
    throw new Error(`the row at vbucket ${vb}, seqno ${String(seqno)} differs from its checksum`);
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

const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array;

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

function endedAt(state: CutState, endSeqno: number): CutState {
  state.endSeqno = endSeqno;
  return state;
}
