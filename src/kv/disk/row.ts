// The `meta` column of a document row: what memory keeps beside key and value, and a checksum of the whole item. All integers are
// big-endian; of the 8 bytes of the revision, the first 2 are zero.
//
//   u64 CAS, u64 revision, u32 flags, u8 datatype, u8 bits (as in cuts), 2 zero bytes, u32 CRC-32
//
// SQLite does not check its pages, so a flipped byte inside a value would be served. The checksum covers the item
// in its encoded form (seqno to the end of the value, see data/cut.ts), seeded with the vbucket.
import type { CutItem } from '#kv/data/cut.ts';

export const metaBytes = 28;

export function writeMeta(meta: Buffer, item: CutItem, checksum: number): void {
  meta.writeUInt32BE(item.casHi, 0);
  meta.writeUInt32BE(item.casLo, 4);
  meta.writeUIntBE(item.rev, 10, 6);
  meta.writeUInt32BE(item.flags, 16);
  meta[20] = item.datatype;
  meta[21] = item.bits;
  meta.writeUInt32BE(checksum, 24);
}

/** Fills the item's fields that `meta` holds, and returns the stored checksum. */
export function readMeta(meta: Uint8Array, item: CutItem): number {
  return readMetaAt(Buffer.from(meta.buffer, meta.byteOffset, meta.byteLength), 0, item);
}

/** As `readMeta`, from within a buffer. */
export function readMetaAt(buffer: Buffer, at: number, item: CutItem): number {
  item.casHi = buffer.readUInt32BE(at);
  item.casLo = buffer.readUInt32BE(at + 4);
  item.rev = buffer.readUIntBE(at + 10, 6);
  item.flags = buffer.readUInt32BE(at + 16);
  item.datatype = buffer[at + 20] as number;
  item.bits = buffer[at + 21] as number;
  return buffer.readUInt32BE(at + 24);
}
