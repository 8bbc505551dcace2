// The encoded form of cuts: a change is encoded once, then the disk engine and change streams read it.
// A buffer holds whole cuts one after the other. All integers are big-endian; u48 holds seqnos and revisions. A field without
// `u` has that many bytes.
//
//   cut:  u32 bytes (with this header), u16 vbucket, u16 failover bytes, u32 item count, u48 start seqno, u48 end seqno,
//         8 max CAS, u48 max deleted revision, u48 purge seqno, u32 manifest uid, u32 live items, u32 tombstones,
//         u48 snapshot start, u48 snapshot end, u48 epoch, u8 copy phase, 5 zeros,
//         failover entries (16 bytes each: uuid, seqno; newest first), items
//   item: u48 seqno, 8 CAS, u48 rev, u32 flags, u32 expiry (tombstone: time of deletion), u8 datatype, u8 bits,
//         u16 key length, u32 value length, key, value
import { assert } from '#base/assert.ts';
import { readU32, readU48, writeU32, writeU48 } from '#wire/bytes.ts';
import { type CutMemory, handedOverBytes, ownMemory } from './cut-memory.ts';

const cutHeaderBytes = 80;
export const cutItemBytes = 36;
/** Offsets in the header of an item. */
export const itemExpiryAt = 24;
export const itemBitsAt = 29;
export const itemValueBytesAt = 32;
/** `valueOmitted`: the item's value was left out. */
export const CutBits = { deleted: 1, expired: 2, valueOmitted: 4 } as const;

/** State of a vbucket at the end of a cut. */
export interface CutState {
  vb: number;
  startSeqno: number;
  endSeqno: number;
  maxCasHi: number;
  maxCasLo: number;
  maxDeletedRev: number;
  purgeSeqno: number;
  manifestUid: number;
  items: number;
  deleted: number;
  /** The active's snapshot that contains the end seqno; both are the end seqno once that snapshot is complete. */
  snapStart: number;
  snapEnd: number;
  epoch: number;
  /** A CopyPhase. */
  copy: number;
  failover: Uint8Array;
}

/** One item of a cut; `buffer` holds key and value at the given ranges. */
export interface CutItem {
  buffer: Buffer;
  keyStart: number;
  keyEnd: number;
  valueStart: number;
  valueEnd: number;
  seqno: number;
  casHi: number;
  casLo: number;
  rev: number;
  flags: number;
  expiry: number;
  datatype: number;
  bits: number;
}

/** The key as a string, for maps. */
export const keyText = ({ buffer, keyEnd, keyStart }: CutItem): string =>
  buffer.toString('latin1', keyStart, keyEnd);

export const isDeleted = ({ bits }: CutItem): boolean => (bits & CutBits.deleted) !== 0;

/** A live document past its expiry, not yet deleted. */
export const isExpired = (item: CutItem, nowSeconds: number): boolean =>
  !isDeleted(item) && item.expiry !== 0 && item.expiry <= nowSeconds;

export const emptyCutItem = (buffer: Buffer = Buffer.alloc(0)): CutItem => ({
  buffer,
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
});

/** For cuts that carry only items of a vbucket, without its state. */
export const stateOfVbucket = (vb: number): CutState => ({
  vb,
  startSeqno: 0,
  endSeqno: 0,
  maxCasHi: 0,
  maxCasLo: 0,
  maxDeletedRev: 0,
  purgeSeqno: 0,
  manifestUid: 0,
  items: 0,
  deleted: 0,
  snapStart: 0,
  snapEnd: 0,
  epoch: 0,
  copy: 0,
  failover: noFailover,
});
const noFailover = new Uint8Array(0);

/** The encoded size of an item. */
export const itemBytes = ({ keyEnd, keyStart, valueEnd, valueStart }: CutItem): number =>
  cutItemBytes + keyEnd - keyStart + valueEnd - valueStart;

/** Writes an item, for which there must be room. Returns the offset after it. */
export function writeItem(target: Buffer, at: number, item: CutItem): number {
  const { buffer, keyEnd, keyStart, valueStart, valueEnd } = item;
  const keyBytes = keyEnd - keyStart;
  const valueBytes = valueEnd - valueStart;
  writeItemHeader(target, at, item, keyBytes, valueBytes);
  // In memory and in cuts the value follows the key, so that one copy does for both.
  const isJoined = keyEnd === valueStart;
  const keyAt = at + cutItemBytes;
  buffer.copy(target, keyAt, keyStart, isJoined ? valueEnd : keyEnd);
  if (!isJoined) buffer.copy(target, keyAt + keyBytes, valueStart, valueEnd);
  return keyAt + keyBytes + valueBytes;
}

function writeItemHeader(buffer: Buffer, at: number, item: CutItem, keyBytes: number, valueBytes: number) {
  writeU48(buffer, at, item.seqno);
  writeU32(buffer, at + 6, item.casHi);
  writeU32(buffer, at + 10, item.casLo);
  writeU48(buffer, at + 14, item.rev);
  writeU32(buffer, at + 20, item.flags);
  writeU32(buffer, at + itemExpiryAt, item.expiry);
  buffer[at + 28] = item.datatype;
  buffer[at + itemBitsAt] = item.bits;
  buffer[at + 30] = keyBytes >>> 8;
  buffer[at + 31] = keyBytes;
  writeU32(buffer, at + itemValueBytesAt, valueBytes);
}

const smallestBuffer = 65536;
const noBytes = Buffer.alloc(0);

/** Appends cuts to a growing buffer; `drain` hands over the bytes and starts with an empty buffer. */
export class CutWriter {
  private buffer: Buffer;
  private end = 0;
  private cutStart = -1;
  private itemStart = 0;
  private count = 0;
  private readonly memory: CutMemory;

  constructor(initialBytes = 0, memory: CutMemory = ownMemory) {
    this.memory = memory;
    this.buffer = initialBytes === 0 ? noBytes : memory.allocate(initialBytes);
  }

  get bytes(): number {
    return this.end;
  }

  /** A cut was begun and not finished. */
  get isOpen(): boolean {
    return this.cutStart >= 0;
  }

  /** Opens a cut whose failover log, which may be absent, has this length. Its items follow, then `finish`. */
  begin(failoverBytes: number): void {
    assert(this.cutStart < 0, 'a cut is open');
    this.reserve(cutHeaderBytes + failoverBytes);
    this.cutStart = this.end;
    this.count = 0;
    this.end += cutHeaderBytes + failoverBytes;
  }

  item(item: CutItem): void {
    this.reserve(itemBytes(item));
    this.itemStart = this.end;
    this.end = writeItem(this.buffer, this.end, item);
    this.count++;
  }

  /** As `item`, with key and value in separate buffers. */
  itemOf(item: CutItem, key: Uint8Array, value: Uint8Array): void {
    this.reserve(cutItemBytes + key.length + value.length);
    this.itemStart = this.end;
    writeItemHeader(this.buffer, this.end, item, key.length, value.length);
    this.end += cutItemBytes;
    this.count++;
    this.buffer.set(key, this.end);
    this.buffer.set(value, this.end + key.length);
    this.end += key.length + value.length;
  }

  /** Appends an item that is already encoded. */
  encodedItem(encoded: Uint8Array): void {
    this.reserve(encoded.length);
    this.buffer.set(encoded, this.end);
    this.itemStart = this.end;
    this.end += encoded.length;
    this.count++;
  }

  /** Removes the value of the item written last. */
  dropValue(): void {
    const { buffer, itemStart } = this;
    this.end -= buffer.readUInt32BE(itemStart + itemValueBytesAt);
    buffer.writeUInt32BE(0, itemStart + itemValueBytesAt);
    const bits = buffer[itemStart + itemBitsAt] as number;
    buffer[itemStart + itemBitsAt] = bits | CutBits.valueOmitted;
  }

  /** The encoded form of the item written last; valid until the next call. */
  lastItem(): Buffer {
    return this.buffer.subarray(this.itemStart, this.end);
  }

  finish(state: CutState): void {
    assert(this.cutStart >= 0, 'no cut is open');
    const { buffer, cutStart: at } = this;
    writeU32(buffer, at, this.end - at);
    buffer.writeUInt16BE(state.vb, at + 4);
    buffer.writeUInt16BE(state.failover.length, at + 6);
    writeU32(buffer, at + 8, this.count);
    writeU48(buffer, at + 12, state.startSeqno);
    writeU48(buffer, at + 18, state.endSeqno);
    writeU32(buffer, at + 24, state.maxCasHi);
    writeU32(buffer, at + 28, state.maxCasLo);
    writeU48(buffer, at + 32, state.maxDeletedRev);
    writeU48(buffer, at + 38, state.purgeSeqno);
    writeU32(buffer, at + 44, state.manifestUid);
    writeU32(buffer, at + 48, state.items);
    writeU32(buffer, at + 52, state.deleted);
    writeU48(buffer, at + 56, state.snapStart);
    writeU48(buffer, at + 62, state.snapEnd);
    writeU48(buffer, at + 68, state.epoch);
    writeU48(buffer, at + 74, state.copy * 2 ** 40);
    buffer.set(state.failover, at + cutHeaderBytes);
    this.cutStart = -1;
  }

  /** Discards the open cut. */
  abandon(): void {
    assert(this.cutStart >= 0, 'no cut is open');
    this.end = this.cutStart;
    this.cutStart = -1;
  }

  /** The encoded cuts, in a buffer of their own that may be transferred to another thread, or in what the writer's memory hands over. */
  drain(): Uint8Array {
    assert(this.cutStart < 0, 'a cut is open');
    const { buffer, end } = this;
    this.end = 0;
    if (this.memory.isHandedOver(buffer, end)) {
      this.buffer = noBytes;
      return new Uint8Array(buffer.buffer, buffer.byteOffset, end);
    }
    const taken = new Uint8Array(end);
    taken.set(buffer.subarray(0, end));
    return taken;
  }

  /** The encoded cuts, valid until the next call. */
  written(): Uint8Array {
    assert(this.cutStart < 0, 'a cut is open');
    return this.buffer.subarray(0, this.end);
  }

  /** Discards the encoded cuts. A buffer that a large document needed is freed. */
  discard(): void {
    this.end = 0;
    if (this.buffer.length >= handedOverBytes) this.release();
  }

  /** As `drain`, and frees the writer's own buffer: for a writer that is not used again, or not soon. */
  takeAll(): Uint8Array {
    const taken = this.drain();
    this.release();
    return taken;
  }

  /** Gives the writer's buffer back to its memory. */
  release(): void {
    assert(this.end === 0, 'the cuts were not taken');
    if (this.buffer !== noBytes) this.memory.release(this.buffer);
    this.buffer = noBytes;
  }

  private reserve(bytes: number): void {
    if (this.end + bytes <= this.buffer.length) return;
    const old = this.buffer;
    this.buffer = this.memory.allocate(Math.max(old.length * 2, this.end + bytes, smallestBuffer));
    old.copy(this.buffer, 0, 0, this.end);
    if (old !== noBytes) this.memory.release(old);
  }
}

/** Reads a buffer of cuts: `nextCut` fills `state`, then `nextItem` fills `item` until it returns false. */
export class CutReader {
  readonly state: CutState;
  readonly item: CutItem;
  private buffer: Buffer;
  private at = 0;
  private cutEnd = 0;
  private left = 0;
  /** The buffer has the items of one cut, without its header. */
  private isHeadless = false;

  constructor(bytes: Uint8Array) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.state = stateOfVbucket(0);
    this.item = emptyCutItem(this.buffer);
  }

  /** Continues with other cuts. */
  read(cuts: Buffer): void {
    this.buffer = this.item.buffer = cuts;
    this.at = this.cutEnd = this.left = 0;
    this.isHeadless = false;
  }

  /** Continues with the items of one cut, without its header: `nextItem` reads them, and `nextCut` returns false. */
  readItems(bytes: Buffer, start: number, end: number, count: number): void {
    this.buffer = this.item.buffer = bytes;
    this.at = start;
    this.cutEnd = end;
    this.left = count;
    this.isHeadless = true;
  }

  /** Called before the memory of the cuts is reused: what is left is read from a copy, and so is the current item. */
  keep(): void {
    const { item } = this;
    const [from, to] = this.isHeadless
      ? [item.keyStart - cutItemBytes, this.cutEnd]
      : [0, this.buffer.length];
    this.buffer = item.buffer = Buffer.from(this.buffer.subarray(from, to));
    this.at -= from;
    this.cutEnd -= from;
    item.keyStart -= from;
    item.keyEnd -= from;
    item.valueStart -= from;
    item.valueEnd -= from;
  }

  nextCut(): boolean {
    if (this.isHeadless) {
      assert(this.at === this.cutEnd, 'bytes follow the last item');
      return false;
    }
    this.at = this.cutEnd;
    if (this.at >= this.buffer.length) return false;
    const { buffer, at, state } = this;
    this.cutEnd = at + buffer.readUInt32BE(at);
    assert(this.cutEnd <= buffer.length, 'a cut extends beyond the end of its buffer');
    const failoverBytes = buffer.readUInt16BE(at + 6);
    state.vb = buffer.readUInt16BE(at + 4);
    this.left = readU32(buffer, at + 8);
    state.startSeqno = readU48(buffer, at + 12);
    state.endSeqno = readU48(buffer, at + 18);
    state.maxCasHi = readU32(buffer, at + 24);
    state.maxCasLo = readU32(buffer, at + 28);
    state.maxDeletedRev = readU48(buffer, at + 32);
    state.purgeSeqno = readU48(buffer, at + 38);
    state.manifestUid = readU32(buffer, at + 44);
    state.items = readU32(buffer, at + 48);
    state.deleted = readU32(buffer, at + 52);
    state.snapStart = readU48(buffer, at + 56);
    state.snapEnd = readU48(buffer, at + 62);
    state.epoch = readU48(buffer, at + 68);
    state.copy = buffer[at + 74] as number;
    this.at = at + cutHeaderBytes + failoverBytes;
    assert(this.at <= this.cutEnd, 'the header of a cut runs over its end');
    state.failover = failoverBytes === 0 ? noFailover : buffer.subarray(at + cutHeaderBytes, this.at);
    return true;
  }

  nextItem(): boolean {
    if (this.left === 0) return false;
    this.left--;
    const { buffer, at, item } = this;
    item.seqno = readU48(buffer, at);
    item.casHi = readU32(buffer, at + 6);
    item.casLo = readU32(buffer, at + 10);
    item.rev = readU48(buffer, at + 14);
    item.flags = readU32(buffer, at + 20);
    item.expiry = readU32(buffer, at + itemExpiryAt);
    item.datatype = buffer[at + 28] as number;
    item.bits = buffer[at + itemBitsAt] as number;
    item.keyStart = at + cutItemBytes;
    item.keyEnd = item.keyStart + (((buffer[at + 30] as number) << 8) | (buffer[at + 31] as number));
    item.valueStart = item.keyEnd;
    item.valueEnd = item.valueStart + readU32(buffer, at + itemValueBytesAt);
    this.at = item.valueEnd;
    assert(this.at <= this.cutEnd, 'an item extends beyond the end of its cut');
    return true;
  }
}
