// Access to the fields of items in memory, by address.
import type { ItemView } from '../data/documents.ts';
import type { Heap } from '../memory/heap.ts';
import { Bit, datatypeIn, headerBytes, keyBytesIn, stateOf, vbIn, Word } from '../memory/layout.ts';
import type { TurnLock } from '../memory/turn-lock.ts';
import { ItemLocks } from './item-locks.ts';
import { collectionIdOf } from './live-collections.ts';
import type { Now } from './now.ts';

const two32 = 2 ** 32;

/** The version of a document that is about to be written. The value is `head` and then `value`. */
export interface Draft {
  key: Buffer;
  keyStart: number;
  keyEnd: number;
  head: Buffer;
  headStart: number;
  headEnd: number;
  value: Buffer;
  valueStart: number;
  valueEnd: number;
  /** The memory of `value`, if the item may take it over (see `MutationRequest`). */
  memory: SharedArrayBuffer | null;
  datatype: number;
  flags: number;
  /** Seconds since 1970, 0: never; for a tombstone the time of deletion. */
  expiry: number;
  /** `Bit.deleted` and the like. */
  bits: number;
}

const noBytes = Buffer.alloc(0);
export const emptyDraft = (): Draft => ({
  key: noBytes,
  keyStart: 0,
  keyEnd: 0,
  head: noBytes,
  headStart: 0,
  headEnd: 0,
  value: noBytes,
  valueStart: 0,
  valueEnd: 0,
  memory: null,
  datatype: 0,
  flags: 0,
  expiry: 0,
  bits: 0,
});

export const draftBytes = (draft: Draft): number =>
  headerBytes +
  (draft.keyEnd - draft.keyStart) +
  (draft.headEnd - draft.headStart) +
  (draft.valueEnd - draft.valueStart);

/** The memory that an item of the draft may take over, because the value lies there at the offset that an item's value has; else null. */
export function adoptedMemory(draft: Draft): SharedArrayBuffer | null {
  const { memory, value, valueStart } = draft;
  if (memory === null || value.buffer !== memory || draft.headEnd > draft.headStart) return null;
  const valueAt = headerBytes + draft.keyEnd - draft.keyStart;
  return value.byteOffset + valueStart === valueAt ? memory : null;
}

export class Items {
  private readonly heap: Heap;
  private readonly lock: TurnLock;
  private readonly locks = new ItemLocks();

  constructor(heap: Heap) {
    this.heap = heap;
    this.lock = heap.lock;
  }

  word(address: number, word: number): number {
    return (this.heap.words[address >>> 16] as Uint32Array)[((address & 0xffff) << 2) + word] as number;
  }

  setWord(address: number, word: number, value: number): void {
    this.lock.hold();
    (this.heap.words[address >>> 16] as Uint32Array)[((address & 0xffff) << 2) + word] = value;
  }

  state(address: number): number {
    return this.word(address, Word.state);
  }

  setBits(address: number, bits: number): void {
    this.setWord(address, Word.state, this.state(address) | bits);
  }

  /**
   * Marks the item as accessed. It takes no lock: another thread that reads memory meanwhile may miss the bit, and then asks this thread to mark
   * the item once more.
   */
  noteUse(address: number): void {
    const words = this.heap.words[address >>> 16] as Uint32Array;
    (words[((address & 0xffff) << 2) + Word.state] as number) |= Bit.used;
  }

  clearBits(address: number, bits: number): void {
    this.setWord(address, Word.state, this.state(address) & ~bits);
  }

  seqno(address: number): number {
    return (this.word(address, Word.highs) & 0xffff) * two32 + this.word(address, Word.seqnoLo);
  }

  rev(address: number): number {
    return (this.word(address, Word.highs) >>> 16) * two32 + this.word(address, Word.revLo);
  }

  /** Bytes of the item with its header. */
  bytes(address: number): number {
    return headerBytes + keyBytesIn(this.state(address)) + this.word(address, Word.valueBytes);
  }

  /** Offset of the key in the item's page. */
  keyStart(address: number): number {
    return ((address & 0xffff) << 4) + headerBytes;
  }

  page(address: number): Buffer {
    return this.heap.bytes[address >>> 16] as Buffer;
  }

  collectionId(address: number): number {
    return collectionIdOf(this.page(address), this.keyStart(address));
  }

  datatype(address: number): number {
    return datatypeIn(this.state(address));
  }

  /** The item's vbucket. */
  vb(address: number): number {
    return vbIn(this.state(address));
  }

  valueStart(address: number): number {
    return this.keyStart(address) + keyBytesIn(this.state(address));
  }

  valueEnd(address: number): number {
    return this.valueStart(address) + this.word(address, Word.valueBytes);
  }

  isExpired(address: number, nowSeconds: number): boolean {
    const expiry = this.word(address, Word.expiry);
    return expiry !== 0 && expiry <= nowSeconds;
  }

  isLive(address: number, nowSeconds: number): boolean {
    return (this.state(address) & (Bit.deleted | Bit.pending)) === 0 && !this.isExpired(address, nowSeconds);
  }

  isLocked(address: number, now: Now): boolean {
    return (this.state(address) & Bit.locked) !== 0 && now.isBefore(this.word(address, Word.lockOrPending));
  }

  /** Locks the item until `end`, in lock ticks; false when too many items are locked. */
  lockItem(address: number, end: number, cas: { casHi: number; casLo: number }, now: Now): boolean {
    const lock = { casHi: cas.casHi, casLo: cas.casLo, end };
    if (!this.locks.add(this.vb(address), this.seqno(address), lock, now)) return false;
    this.setBits(address, Bit.locked);
    this.setWord(address, Word.lockOrPending, end);
    return true;
  }

  /**
   * Whether this is the CAS of the item's lock, also of one whose time is over: its owner may still change what nobody else has changed.
   * The address may be 0.
   */
  isLockCas(address: number, casHi: number, casLo: number): boolean {
    if (address === 0 || (this.state(address) & Bit.locked) === 0) return false;
    return this.locks.isCas(this.vb(address), this.seqno(address), casHi, casLo);
  }

  /** Releases the lock of an item that has one. Called before the item gets another seqno. */
  unlockItem(address: number): void {
    if ((this.state(address) & Bit.locked) === 0) return;
    this.locks.remove(this.vb(address), this.seqno(address));
    this.clearBits(address, Bit.locked);
  }

  /** The CAS of the document, which a lock does not change. */
  hasCas(address: number, casHi: number, casLo: number): boolean {
    return this.word(address, Word.casHi) === casHi && this.word(address, Word.casLo) === casLo;
  }

  setCas(address: number, casHi: number, casLo: number): void {
    this.setWord(address, Word.casHi, casHi);
    this.setWord(address, Word.casLo, casLo);
  }

  setSeqnoAndRev(address: number, seqno: number, rev: number): void {
    const seqnoHigh = Math.floor(seqno / two32);
    const revHigh = Math.floor(rev / two32);
    this.setWord(address, Word.seqnoLo, seqno - seqnoHigh * two32);
    this.setWord(address, Word.revLo, rev - revHigh * two32);
    this.setWord(address, Word.highs, (revHigh << 16) | seqnoHigh);
  }

  /**
   * Writes flags, expiry, sizes and state, the value, and the key when the memory is newly allocated. The caller sets CAS,
   * seqno and revision next.
   */
  write(address: number, vb: number, draft: Draft, isNew: boolean): void {
    this.lock.hold();
    const words = this.heap.words[address >>> 16] as Uint32Array;
    const at = (address & 0xffff) << 2;
    const keyBytes = draft.keyEnd - draft.keyStart;
    const headLength = draft.headEnd - draft.headStart;
    const valueLength = draft.valueEnd - draft.valueStart;
    words[at + Word.flags] = draft.flags;
    words[at + Word.expiry] = draft.expiry;
    words[at + Word.valueBytes] = headLength + valueLength;
    words[at + Word.state] = stateOf(draft.bits, vb, draft.datatype, keyBytes);
    words[at + Word.lockOrPending] = 0;
    const page = this.heap.bytes[address >>> 16] as Buffer;
    const keyAt = (at << 2) + headerBytes;
    const { key, keyStart } = draft;
    // Keys are short: a loop is faster than a call of a native copy.
    if (isNew) for (let i = 0; i < keyBytes; i++) page[keyAt + i] = key[keyStart + i] as number;
    if (headLength > 0) draft.head.copy(page, keyAt + keyBytes, draft.headStart, draft.headEnd);
    const valueAt = keyAt + keyBytes + headLength;
    // The value is there already if the item has taken over its memory.
    if (valueLength > 0 && draft.memory === null) {
      draft.value.copy(page, valueAt, draft.valueStart, draft.valueEnd);
    }
  }

  /** Copies header and key, and the value when `withValue`. */
  copy(from: number, to: number, withValue: boolean): void {
    this.lock.hold();
    const start = (from & 0xffff) << 4;
    const end = withValue ? this.valueEnd(from) : this.valueStart(from);
    this.page(from).copy(this.page(to), (to & 0xffff) << 4, start, end);
  }

  /** Points a view at an item. */
  show(address: number, now: Now, view: ItemView): void {
    const words = this.heap.words[address >>> 16] as Uint32Array;
    const at = (address & 0xffff) << 2;
    const state = words[at + Word.state] as number;
    const highs = words[at + Word.highs] as number;
    const keyAt = (at << 2) + headerBytes;
    const valueAt = keyAt + keyBytesIn(state);
    view.buffer = this.heap.bytes[address >>> 16] as Buffer;
    view.keyStart = keyAt;
    view.keyEnd = valueAt;
    view.valueStart = valueAt;
    view.valueEnd = valueAt + (words[at + Word.valueBytes] as number);
    view.datatype = datatypeIn(state);
    view.flags = words[at + Word.flags] as number;
    view.expiry = words[at + Word.expiry] as number;
    view.casHi = words[at + Word.casHi] as number;
    view.casLo = words[at + Word.casLo] as number;
    view.seqno = (highs & 0xffff) * two32 + (words[at + Word.seqnoLo] as number);
    view.rev = (highs >>> 16) * two32 + (words[at + Word.revLo] as number);
    view.isDeleted = (state & Bit.deleted) !== 0;
    view.isLocked = (state & Bit.locked) !== 0 && now.isBefore(words[at + Word.lockOrPending] as number);
  }
}
