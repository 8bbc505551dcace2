// Reads a data file page by page: each page is one short read, so that none delays a checkpoint or a commit for long. Every
// row is compared with its checksum.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { type CutItem, CutWriter } from '#kv/data/cut.ts';
import { isEventKey } from '#kv/data/system-events.ts';
import type { CutBuffer, LoadedValues, VbucketRecord } from '../../data/disk-engine.ts';
import { sql } from '../schema.ts';
import { readVbRow, stateOf } from '../vb-row.ts';
import { PackedRows } from './packed-rows.ts';
import { arrayStatement, RowReader } from './row-reader.ts';

/** Where a page starts. Opaque to callers. */
export interface LoadCursor {
  vb: number;
  afterKey: Uint8Array;
  /** Number of this vbucket's rows in earlier pages, and the sum of the low words of their seqnos. */
  rows: number;
  seqnos: number;
  /** The file's count of commits when this vbucket was begun. */
  commits: number;
}

export interface LoadPage {
  batch: CutBuffer;
  /** Null after the last page. */
  next: LoadCursor | null;
}

const noKey = new Uint8Array(0);
export const firstPage: LoadCursor = { vb: 0, afterKey: noKey, rows: 0, seqnos: 0, commits: -1 };

/** A page ends after this many bytes or this long, whichever comes first: its consumer also serves clients. */
const pageTargetBytes = 256 * 1024;
const pageTargetMs = 50;

export class PageReader {
  private readonly vbuckets: StatementSync;
  private readonly countBySeqno: StatementSync;
  private readonly rowWithoutState: StatementSync;
  private readonly monotonicMs: () => number;
  private readonly packed: PackedRows;
  private readonly rowReader: RowReader;
  private values: LoadedValues = 'all';

  constructor(db: DatabaseSync, monotonicMs: () => number) {
    this.vbuckets = arrayStatement(db, sql.vbucketsFrom);
    this.packed = new PackedRows(db, 'byKey');
    this.rowReader = new RowReader(db);
    this.countBySeqno = arrayStatement(db, sql.countBySeqno);
    this.rowWithoutState = arrayStatement(db, sql.rowsWithoutState);
    this.monotonicMs = monotonicMs;
  }

  readVbuckets(): VbucketRecord[] {
    return (this.vbuckets.all(0) as unknown as unknown[][]).map(toRecord);
  }

  /** `commits` counts the file's commits: without commits in between, rows by seqno and rows by key must agree. */
  readPage(cursor: LoadCursor, commits: number, values: LoadedValues): LoadPage {
    if (cursor.commits < 0) this.refuseRowsWithoutState();
    const writer = new CutWriter(2 * pageTargetBytes);
    const deadlineMs = this.monotonicMs() + pageTargetMs;
    const isFull = (): boolean => writer.bytes >= pageTargetBytes || this.monotonicMs() > deadlineMs;
    const at = { ...cursor };
    this.values = values;
    do {
      const row = this.vbuckets.get(at.vb) as unknown as unknown[] | undefined;
      if (row === undefined) return { batch: writer.takeAll(), next: null };
      const record = toRecord(row);
      if (record.vb !== at.vb || at.commits < 0) startVbucket(at, record.vb, commits);
      if (this.readVbucket(record, at, writer, isFull)) {
        if (at.commits === commits) this.compareCounts(at);
        startVbucket(at, record.vb + 1, commits);
      }
    } while (!isFull());
    return { batch: writer.takeAll(), next: at };
  }

  /** Writes the vbucket's rows after the cursor as one cut and advances the cursor. True when none are left. */
  private readVbucket(
    record: VbucketRecord,
    at: LoadCursor,
    writer: CutWriter,
    isFull: () => boolean,
  ): boolean {
    if (this.packed.read(at.vb, at.afterKey) === 0) return true;
    const state = stateOf(record);
    writer.begin(state.failover.length);
    let isFinished = this.writeRows(at, writer);
    while (!isFinished && !isFull()) {
      this.packed.read(at.vb, at.afterKey);
      isFinished = this.writeRows(at, writer);
    }
    writer.finish(state);
    return isFinished;
  }

  /** Stops early at a full page. True when these were the last rows of the vbucket. */
  private writeRows(at: LoadCursor, writer: CutWriter): boolean {
    const { packed } = this;
    const { item } = packed;
    let isWhole = true;
    let last: Uint8Array = noKey;
    while (packed.next(at.vb)) {
      this.writeRow(at, writer);
      last = item.buffer.subarray(item.keyStart, item.keyEnd);
      if (writer.bytes >= pageTargetBytes) {
        isWhole = false;
        break;
      }
    }
    if (last !== noKey) moveTo(at, last);
    return isWhole && packed.isLast;
  }

  private writeRow(at: LoadCursor, writer: CutWriter): void {
    const { checksum, item, isBig } = this.packed;
    if (isBig && this.values === 'all') this.rowReader.writeBig(at.vb, item, writer);
    else writer.item(item);
    const isWhole = !isBig || this.values === 'all';
    if (isWhole && crc32(writer.lastItem(), at.vb) !== checksum) {
      throw new Error(`the row at vbucket ${at.vb}, seqno ${item.seqno} differs from its checksum`);
    }
    if (!isWhole || (this.values === 'none' && canOmitValue(item))) writer.dropValue();
    at.rows++;
    at.seqnos += item.seqno >>> 0;
  }

  /** A row missing from one B-tree, or filed under another vbucket there, is found by comparing with the other B-tree. */
  private compareCounts(at: LoadCursor): void {
    const [rows, seqnos] = this.countBySeqno.get(at.vb) as unknown as [number, number];
    if (rows === at.rows && seqnos === at.seqnos) return;
    throw new Error(`vbucket ${at.vb}: its ${at.rows} rows by key are not its ${rows} rows by seqno`);
  }

  private refuseRowsWithoutState(): void {
    const rowWithoutState = this.rowWithoutState.get() as unknown as [number] | undefined;
    if (rowWithoutState !== undefined) throw new Error(`vbucket ${rowWithoutState[0]} has rows but no state`);
  }
}

/** A load needs the values of system events in any case. */
const canOmitValue = (item: CutItem): boolean =>
  item.valueEnd > item.valueStart && !isEventKey(item.buffer, item.keyStart);

function toRecord(row: readonly unknown[]): VbucketRecord {
  const record = readVbRow(row);
  if (record === null) throw new Error(`the state of vbucket ${String(row[0])} differs from its checksum`);
  return record;
}

/** Keeps a copy of the key, which is part of a buffer that holds all the rows. */
function moveTo(at: LoadCursor, key: Uint8Array): void {
  if (Buffer.compare(key, at.afterKey) <= 0) throw new Error(`vbucket ${at.vb} is out of order`);
  at.afterKey = Uint8Array.from(key);
}

function startVbucket(at: LoadCursor, vb: number, commits: number): void {
  at.vb = vb;
  at.afterKey = noKey;
  at.rows = 0;
  at.seqnos = 0;
  at.commits = commits;
}
