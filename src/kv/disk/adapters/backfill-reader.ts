// Reads a vbucket's rows in seqno order, usually over a separate read-only connection: neither it nor a commit waits for the other.
// Each call is one short transaction, so that none delays a checkpoint.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { CutWriter } from '#kv/data/cut.ts';
import {
  type BackfillPage,
  type BackfillRequest,
  backfillPageBytes,
  type CutBuffer,
  type DamagedFile,
  type VbucketRecord,
} from '../../data/disk-engine.ts';
import { backfillSql, shrinkSql, sql } from '../schema.ts';
import { readVbRow, stateOf } from '../vb-row.ts';
import type { DataFileSpec } from './file-format.ts';
import { PackedRows } from './packed-rows.ts';
import { arrayStatement, RowReader } from './row-reader.ts';
import { inOneTransaction } from './transaction.ts';

/** Several pages in one buffer. */
export interface PackedPages {
  readonly batch: CutBuffer;
  /** In the order of the requests. */
  readonly pages: readonly (PackedPage | DamagedFile)[];
}

/** A page whose rows are a part of the common buffer. */
export interface PackedPage extends Omit<BackfillPage, 'batch' | 'inPlace'> {
  readonly start: number;
  readonly end: number;
}

/** SQLite's cache (a few MB at most) is freed at the end of a vbucket, if pages of this size were read since the last time. */
const shrinkAfterBytes = 4 * backfillPageBytes;

export class BackfillReader {
  private readonly spec: DataFileSpec;
  private readonly db: DatabaseSync;
  private readonly vbuckets: StatementSync;
  private readonly packed: PackedRows;
  private readonly reader: RowReader;
  private writer = new CutWriter(0);
  private bytesSinceShrink = 0;

  static open(spec: DataFileSpec): BackfillReader {
    const db = new DatabaseSync(spec.path, { readOnly: true });
    db.exec(backfillSql);
    return new BackfillReader(spec, db);
  }

  constructor(spec: DataFileSpec, db: DatabaseSync) {
    this.spec = spec;
    this.db = db;
    this.vbuckets = arrayStatement(this.db, sql.vbucketsFrom);
    this.packed = new PackedRows(this.db, 'bySeqno');
    this.reader = new RowReader(this.db);
  }

  readPages(requests: readonly BackfillRequest[]): PackedPages {
    const bytes = requests.reduce((sum, { targetBytes }) => sum + targetBytes, 0);
    this.writer = new CutWriter(bytes + (bytes >> 3));
    // A document that is larger than its page leaves no room for the last pages, which are then empty.
    const pages = inOneTransaction(this.db, () => requests.map((request) => this.readPage(request, bytes)));
    this.bytesSinceShrink += bytes;
    const isAllRead = pages.every((page) => 'reason' in page || page.toSeqno === page.endSeqno);
    if (isAllRead && this.bytesSinceShrink >= shrinkAfterBytes) this.shrink();
    return { batch: this.writer.takeAll(), pages };
  }

  close(): void {
    this.db.close();
  }

  private readPage(request: BackfillRequest, allBytes: number): PackedPage | DamagedFile {
    const { vb, afterSeqno, targetBytes } = request;
    const { writer } = this;
    const start = writer.bytes;
    try {
      const record = this.recordOf(vb);
      if (record === null) return { start, end: start, toSeqno: 0, endSeqno: 0, purgeSeqno: 0 };
      const positions = this.readRows(record, afterSeqno, Math.min(start + targetBytes, allBytes));
      return { start, end: writer.bytes, ...positions };
    } catch (error) {
      if (writer.isOpen) writer.abandon();
      const { file, path } = this.spec;
      return { file, path, reason: (error as Error).message };
    }
  }

  private shrink(): void {
    this.db.exec(shrinkSql);
    this.bytesSinceShrink = 0;
  }

  private recordOf(vb: number): VbucketRecord | null {
    const row = this.vbuckets.get(vb) as unknown as unknown[] | undefined;
    if (row === undefined || row[0] !== vb) return null;
    const record = readVbRow(row);
    if (record === null) throw new Error(`the state of vbucket ${vb} differs from its checksum`);
    return record;
  }

  private readRows(record: VbucketRecord, afterSeqno: number, endBytes: number) {
    const { highSeqno: endSeqno, purgeSeqno, vb } = record;
    const { packed, writer } = this;
    const state = stateOf(record);
    writer.begin(state.failover.length);
    let toSeqno = afterSeqno;
    let isLast = false;
    while (!isLast && writer.bytes < endBytes) {
      packed.read(vb, toSeqno);
      let hasRow = false;
      while (writer.bytes < endBytes && (hasRow = packed.next(vb))) toSeqno = this.writeRow(vb);
      isLast = !hasRow && packed.isLast;
    }
    state.startSeqno = Math.min(afterSeqno + 1, endSeqno);
    state.endSeqno = isLast ? endSeqno : toSeqno;
    writer.finish(state);
    return { toSeqno: state.endSeqno, endSeqno, purgeSeqno };
  }

  private writeRow(vb: number): number {
    const { item, isBig, checksum } = this.packed;
    if (isBig) this.reader.writeBig(vb, item, this.writer);
    else this.writer.item(item);
    if (crc32(this.writer.lastItem(), vb) === checksum) return item.seqno;
    throw new Error(`the row at vbucket ${vb}, seqno ${item.seqno} differs from its checksum`);
  }
}
