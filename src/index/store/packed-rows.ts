// Many rows of an index as one row of SQLite: the bytes of all keys and ids one after another, and their lengths. An array and two
// buffers for each row cost three times as much.
import type { StoredRow } from './index-store.ts';

/** Lengths are decimal text, separated by commas. Both null: no rows. */
export type PackedIndexRows = readonly [bytes: Uint8Array | null, lengths: Uint8Array | null];

/** Above the length of any document id. */
const idBytesMax = 256;
const comma = 0x2c;
const zero = 0x30;

/** The packed columns of a subquery with the columns k and id, in its order. */
export const packedColumns = `cast(group_concat(k || id, '') as blob),
  cast(group_concat(length(k) * ${idBytesMax} + length(id)) as blob)`;

export function unpacked([bytes, lengths]: PackedIndexRows): StoredRow[] {
  const rows: StoredRow[] = [];
  if (bytes === null || lengths === null) return rows;
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  let length = 0;
  for (let index = 0; index <= lengths.length; index++) {
    const digit = lengths[index] ?? comma;
    if (digit !== comma) {
      length = length * 10 + digit - zero;
      continue;
    }
    const idStart = at + Math.floor(length / idBytesMax);
    const end = idStart + (length % idBytesMax);
    rows.push({ key: all.subarray(at, idStart), id: all.toString('utf8', idStart, end) });
    at = end;
    length = 0;
  }
  return rows;
}
