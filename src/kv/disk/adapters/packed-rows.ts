// Reads rows of the table `doc` in key or seqno order, many at a time: SQLite joins them to one blob and one text, which takes a fifth
// of the time of one JavaScript value per column. Callers compare every row with `checksum` before they use it.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type CutItem, emptyCutItem } from '#kv/data/cut.ts';
import { metaBytes, readMetaAt } from '../row.ts';
import { sql } from '../schema.ts';
import { arrayStatement } from './row-reader.ts';

/** Few, since a caller whose page is full uses no more of the rows, and compares the time only after a read; enough to amortize the query. */
const rowsPerRead = 128;
/** Seqno, expiry or time of deletion, length of the key, length of the value (negative: it is in the table `big`). */
const numbersPerRow = 4;

export class PackedRows {
  /** The current row: `buffer` holds the key, and the value unless that is in the table `big`. */
  readonly item: CutItem = emptyCutItem();
  checksum = 0;
  /** The value of the current row is in the table `big`. */
  isBig = false;
  private readonly rows: StatementSync;
  private numbers: number[] = [];
  /** The index of the next row's first number. */
  private nextNumber = 0;
  /** The offset of the next row in the buffer. */
  private at = 0;

  constructor(db: DatabaseSync, order: 'byKey' | 'bySeqno') {
    this.rows = arrayStatement(db, order === 'byKey' ? sql.rowsByKey : sql.rowsBySeqno);
  }

  /** Reads the next rows of a vbucket after a key or seqno. Returns how many; fewer than `rowsPerRead` are the last. */
  read(vb: number, after: Uint8Array | number): number {
    const [packed, numbers] = this.rows.get(vb, after, rowsPerRead) as unknown as unknown[];
    this.nextNumber = 0;
    this.at = 0;
    if (packed === null && numbers === null) return (this.numbers.length = 0);
    if (!(packed instanceof Uint8Array) || typeof numbers !== 'string') throw incomplete(vb);
    this.numbers = JSON.parse(`[${numbers}]`) as number[];
    this.item.buffer = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    return this.numbers.length / numbersPerRow;
  }

  /** Whether these were the last rows of the vbucket. */
  get isLast(): boolean {
    return this.numbers.length < rowsPerRead * numbersPerRow;
  }

  /** Advances to the next of the rows that were read; false after the last. Throws when the blob does not have the lengths that the numbers state. */
  next(vb: number): boolean {
    const { item, numbers, nextNumber } = this;
    if (nextNumber >= numbers.length) {
      if (nextNumber !== numbers.length || (nextNumber > 0 && this.at !== item.buffer.length))
        throw incomplete(vb);
      return false;
    }
    const valueBytes = numbers[nextNumber + 3] as number;
    this.isBig = valueBytes < 0;
    item.seqno = numbers[nextNumber] as number;
    item.expiry = numbers[nextNumber + 1] as number;
    item.keyStart = this.at + metaBytes;
    item.keyEnd = item.valueStart = item.keyStart + (numbers[nextNumber + 2] as number);
    item.valueEnd = item.valueStart + Math.max(valueBytes, 0);
    if (!(item.valueEnd <= item.buffer.length)) throw incomplete(vb);
    this.checksum = readMetaAt(item.buffer, this.at, item);
    this.nextNumber = nextNumber + numbersPerRow;
    this.at = item.valueEnd;
    return true;
  }
}

const incomplete = (vb: number): Error => new Error(`rows of vbucket ${vb} are incomplete`);
