// Many rows of an index as one row of SQLite: the bytes of all keys and ids one after another, and their lengths. An array and two
// buffers for each row cost three times as much.
import type { StoredRow } from './index-store.ts';

/** `lengths` has for each row, as decimal text and separated by commas, key length * `idLengthLimit` + id length. Both null: no rows. */
export type PackedIndexRows = readonly [bytes: Uint8Array | null, lengths: Uint8Array | null];

/** Above the length of any document id. */
const idLengthLimit = 256;
const comma = 0x2c;
const zero = 0x30;

/** Ids are separated by commas, which take SQLite half of the time of lengths; the number of rows shows whether an id has a comma itself. */
export type PackedIds = readonly [ids: Uint8Array | null, rows: number];

/** The packed ids of a subquery with the column id, in its order. */
export const packedIdColumns = 'cast(group_concat(id) as blob), count(*)';

/** The packed columns of a subquery with the columns k and id, in its order. */
export const packedColumns = `cast(group_concat(k || id, '') as blob),
  cast(group_concat(length(k) * ${idLengthLimit} + length(id)) as blob)`;

class PackedRow implements StoredRow {
  readonly id: string;
  private readonly all: Buffer;
  private readonly start: number;
  private readonly end: number;

  constructor(all: Buffer, start: number, end: number, id: string) {
    this.all = all;
    this.start = start;
    this.end = end;
    this.id = id;
  }

  /** Made when it is read: many scans need ids only. */
  get key(): Buffer {
    return this.all.subarray(this.start, this.end);
  }
}

export function unpacked([bytes, lengths]: PackedIndexRows): StoredRow[] {
  const rows: StoredRow[] = [];
  if (bytes === null || lengths === null) return rows;
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // A part of one long string takes a fraction of the time of a string made of a part of the bytes.
  const text = all.toString('latin1');
  let at = 0;
  let length = 0;
  for (let index = 0; index <= lengths.length; index++) {
    const digit = lengths[index] ?? comma;
    if (digit !== comma) {
      length = length * 10 + digit - zero;
      continue;
    }
    const idStart = at + Math.floor(length / idLengthLimit);
    const end = idStart + (length % idLengthLimit);
    const id = isAscii(all, idStart, end) ? text.slice(idStart, end) : all.toString('utf8', idStart, end);
    rows.push(new PackedRow(all, at, idStart, id));
    at = end;
    length = 0;
  }
  return rows;
}

/** Null: an id has a comma. */
export function unpackedIds([bytes, rows]: PackedIds): string[] | null {
  if (bytes === null) return [];
  const ids = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString().split(',');
  return ids.length === rows ? ids : null;
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] as number) > 0x7f) return false;
  return true;
}
