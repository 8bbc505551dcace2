// Reads a vbucket's rows in seqno order over a separate read-only connection: neither it nor a commit waits for the other.
// Each page is one short transaction, so that none delays a checkpoint.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { CutWriter } from '#kv/data/cut.ts';
import type { BackfillPage, VbucketRecord } from '../../data/disk-engine.ts';
import { backfillSql, shrinkSql, sql } from '../schema.ts';
import { readVbRow, stateOf } from '../vb-row.ts';
import { PackedRows } from './packed-rows.ts';
import { arraysOf, RowReader } from './row-reader.ts';

/** A page ends after this many bytes: some 2,000 small rows, read in about 10 ms. */
const pageTargetBytes = 512 * 1024;
/** SQLite's cache (a few MB at most) is freed at the end of a vbucket, if this many pages were read since the last time. */
const shrinkAfterPages = 4;

export class BackfillReader {
  private readonly db: DatabaseSync;
  private readonly vbuckets: StatementSync;
  private readonly packed: PackedRows;
  private readonly reader: RowReader;
  private writer = new CutWriter(0);
  private pagesSinceShrink = 0;

  constructor(path: string) {
    this.db = new DatabaseSync(path, { readOnly: true });
    this.db.exec(backfillSql);
    this.vbuckets = arraysOf(this.db, sql.vbucketsFrom);
    this.packed = new PackedRows(this.db, 'bySeqno');
    this.reader = new RowReader(this.db);
  }

  readPage(vb: number, afterSeqno: number): BackfillPage {
    // A failed page leaves its cut open, so each page begins with a new writer.
    this.writer = new CutWriter(pageTargetBytes + (pageTargetBytes >> 3));
    const page = this.inOneTransaction(() => {
      const record = this.recordOf(vb);
      if (record === null) return { batch: new Uint8Array(0), toSeqno: 0, endSeqno: 0, purgeSeqno: 0 };
      return this.readRows(record, afterSeqno);
    });
    this.pagesSinceShrink++;
    if (page.toSeqno === page.endSeqno && this.pagesSinceShrink >= shrinkAfterPages) this.shrink();
    return page;
  }

  close(): void {
    this.db.close();
  }

  private inOneTransaction<T>(read: () => T): T {
    this.db.exec('begin');
    try {
      return read();
    } finally {
      this.db.exec('rollback');
    }
  }

  private shrink(): void {
    this.db.exec(shrinkSql);
    this.pagesSinceShrink = 0;
  }

  private recordOf(vb: number): VbucketRecord | null {
    const row = this.vbuckets.get(vb) as unknown as unknown[] | undefined;
    if (row === undefined || row[0] !== vb) return null;
    const record = readVbRow(row);
    if (record === null) throw new Error(`the state of vbucket ${vb} differs from its checksum`);
    return record;
  }

  private readRows(record: VbucketRecord, afterSeqno: number): BackfillPage {
    const { highSeqno: endSeqno, purgeSeqno, vb } = record;
    const { packed, writer } = this;
    const state = stateOf(record);
    writer.begin(state.failover.length);
    let toSeqno = afterSeqno;
    let isLast = false;
    while (!isLast && writer.bytes < pageTargetBytes) {
      packed.read(vb, toSeqno);
      let hasRow = false;
      while (writer.bytes < pageTargetBytes && (hasRow = packed.next(vb))) toSeqno = this.writeRow(vb);
      isLast = !hasRow && packed.isLast;
    }
    state.startSeqno = Math.min(afterSeqno + 1, endSeqno);
    state.endSeqno = isLast ? endSeqno : toSeqno;
    writer.finish(state);
    return { batch: writer.takeAll(), toSeqno: state.endSeqno, endSeqno, purgeSeqno };
  }

  private writeRow(vb: number): number {
    const { item, isBig, checksum } = this.packed;
    if (isBig) this.reader.writeBig(vb, item, this.writer);
    else this.writer.item(item);
    if (crc32(this.writer.lastItem(), vb) === checksum) return item.seqno;
    throw new Error(`the row at vbucket ${vb}, seqno ${item.seqno} differs from its checksum`);
  }
}
