// Decodes a row of `doc` to its item and compares it with its checksum.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { type CutItem, type CutWriter, emptyCutItem } from '#kv/data/cut.ts';
import { metaBytes, readMeta } from '../row.ts';
import { bigVbFactor, sql } from '../schema.ts';

/** Columns in the order of `sql.rowOf`: key, seq, exp, del, meta, val. */
export type DocRow = readonly unknown[];

export class RowReader {
  private readonly big: StatementSync;
  private readonly item: CutItem = emptyCutItem();

  constructor(db: DatabaseSync) {
    this.big = arrayStatement(db, sql.big);
  }

  /** Appends the row's item to the open cut and returns its seqno. Throws if the row differs from its checksum. */
  write(vb: number, row: DocRow, writer: CutWriter): number {
    const [key, seqno, expiry, deletedAt, meta] = row;
    const value = row[5] ?? this.bigValue(vb, seqno as number);
    const { item } = this;
    if (!isBytes(key) || !isBytes(meta) || meta.length !== metaBytes || !isBytes(value)) {
      throw new Error(`the row at vbucket ${vb}, seqno ${String(seqno)} is incomplete`);
    }
    const checksum = readMeta(meta, item);
    item.seqno = seqno as number;
    // The expiry of a tombstone is the time of its deletion.
    item.expiry = (deletedAt ?? expiry) as number;
    writer.itemOf(item, key, value);
    if (crc32(writer.lastItem(), vb) === checksum) return item.seqno;
    throw new Error(`the row at vbucket ${vb}, seqno ${String(seqno)} differs from its checksum`);
  }

  /** Appends an item whose value is in `big`; `item.buffer` holds the key. */
  writeBig(vb: number, item: CutItem, writer: CutWriter): void {
    const value = this.bigValue(vb, item.seqno);
    if (!isBytes(value)) throw new Error(`the row at vbucket ${vb}, seqno ${item.seqno} is incomplete`);
    writer.itemOf(item, item.buffer.subarray(item.keyStart, item.keyEnd), value);
  }

  private bigValue(vb: number, seqno: number): unknown {
    return (this.big.get(vb * bigVbFactor + seqno) as unknown as unknown[] | undefined)?.[0];
  }
}

/** Prepares a statement that returns its rows as arrays. */
export function arrayStatement(db: DatabaseSync, text: string): StatementSync {
  const statement = db.prepare(text);
  statement.setReturnArrays(true);
  return statement;
}

const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array;
