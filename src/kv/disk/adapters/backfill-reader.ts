// Reads a vbucket's rows in seqno order over a connection of its own, which only reads: it never waits for a commit,
// nor a commit for it. Each page is one short transaction, so that none holds back a checkpoint.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { CutWriter } from '#kv/bucket/cut.ts';
import type { BackfillPage, VbucketRecord } from '../engine.ts';
import { readerSql, sql } from '../schema.ts';
import { readVbRow, stateOf } from '../vb-row.ts';
import { arraysOf, type DocRow, RowReader } from './row-reader.ts';

/** A page ends after this many bytes: some 2,000 small rows, read in about 10 ms. */
const pageTargetBytes = 512 * 1024;
/** Values in rows are small, so this many take less than a page. */
const rowsPerRead = 256;

export class BackfillReader {
  private readonly db: DatabaseSync;
  private readonly vbuckets: StatementSync;
  private readonly rows: StatementSync;
  private readonly reader: RowReader;

  constructor(path: string) {
    this.db = new DatabaseSync(path, { readOnly: true });
    this.db.exec(readerSql);
    this.vbuckets = arraysOf(this.db, sql.vbucketsFrom);
    this.rows = arraysOf(this.db, sql.rowsFrom);
    this.reader = new RowReader(this.db);
  }

  readPage(vb: number, afterSeqno: number): BackfillPage {
    this.db.exec('begin');
    try {
      const record = this.recordOf(vb);
      if (record === null) return { batch: new Uint8Array(0), toSeqno: 0, endSeqno: 0, purgeSeqno: 0 };
      return this.readRows(record, afterSeqno);
    } finally {
      this.db.exec('rollback');
    }
  }

  close(): void {
    this.db.close();
  }

  private recordOf(vb: number): VbucketRecord | null {
    const row = this.vbuckets.get(vb) as unknown as unknown[] | undefined;
    if (row === undefined || row[0] !== vb) return null;
    const record = readVbRow(row);
    if (record === null) throw new Error(`the state of vbucket ${vb} differs from its checksum`);
    return record;
  }

  private readRows(record: VbucketRecord, afterSeqno: number): BackfillPage {
    const { highSeqno: endSeqno, purgeSeqno } = record;
    const writer = new CutWriter(pageTargetBytes + (pageTargetBytes >> 3));
    const state = stateOf(record);
    writer.begin(state.failover.length);
    let toSeqno = afterSeqno;
    let rows: DocRow[];
    do {
      rows = this.rows.all(record.vb, toSeqno, rowsPerRead) as unknown as DocRow[];
      for (const row of rows) {
        if (writer.bytes >= pageTargetBytes) break;
        toSeqno = this.reader.write(record.vb, row, writer);
      }
    } while (rows.length === rowsPerRead && writer.bytes < pageTargetBytes);
    const isLast = writer.bytes < pageTargetBytes;
    state.startSeqno = Math.min(afterSeqno + 1, endSeqno);
    state.endSeqno = isLast ? endSeqno : toSeqno;
    writer.finish(state);
    return { batch: writer.take(), toSeqno: state.endSeqno, endSeqno, purgeSeqno };
  }
}
