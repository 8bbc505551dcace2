// Residency of items: values, or whole items, are evicted from memory and loaded again. Clients see no change from it. Only
// persisted data may be evicted.

import { Datatype } from '#wire/status.ts';
import type { EvictionPolicy } from '../admin.ts';
import { CutBits, type CutItem } from '../data/cut.ts';
import { Bit, datatypeIn, headerBytes, keyBytesIn, Word, withDatatype } from '../memory/layout.ts';
import { draftOfStored } from './drafts.ts';
import { emptyPosition, type ItemPosition } from './item-position.ts';
import { type Draft, emptyDraft } from './items.ts';
import type { Vbuckets } from './vbuckets.ts';

const busyBits = Bit.dirty | Bit.hasPending | Bit.pending;
/** Limit of keys cached as absent on disk. */
const absentMax = 10_000;

export class Residency {
  readonly policy: EvictionPolicy;
  private readonly vbuckets: Vbuckets;
  private readonly position = emptyPosition();
  private readonly draft = emptyDraft();
  /** By key: the vbucket's count of whole evictions at the time when the disk did not have the key. */
  private readonly absent = new Map<string, number>();

  constructor(vbuckets: Vbuckets, policy: EvictionPolicy) {
    this.vbuckets = vbuckets;
    this.policy = policy;
  }

  /** Items whose value is not in memory. */
  get nonResident(): number {
    const { columns } = this.vbuckets;
    let count = 0;
    for (let vb = 0; vb < columns.count; vb++) {
      count += (columns.nonResidentValues[vb] as number) + (columns.nonResidentItems[vb] as number);
    }
    return count;
  }

  /** Whether an item may be evicted: persisted, not locked, without a pending write. */
  isEvictable(address: number): boolean {
    const { items, now, columns } = this.vbuckets;
    if ((items.state(address) & busyBits) !== 0 || items.isLocked(address, now)) return false;
    return items.seqno(address) <= (columns.persistedSeqno[items.vb(address)] as number);
  }

  /** Whether the item would take less memory without its value. */
  wouldFreeMemory(address: number): boolean {
    const { heap, items } = this.vbuckets;
    if (items.word(address, Word.valueBytes) === 0) return false;
    return !heap.fits(address, headerBytes + keyBytesIn(items.state(address)));
  }

  /** Evicts the value; false when that would free nothing. */
  dropValue(address: number): boolean {
    const { heap, items, columns } = this.vbuckets;
    const bytes = headerBytes + keyBytesIn(items.state(address));
    if (!this.wouldFreeMemory(address)) return false;
    const target = heap.allocateKeyOnly(bytes);
    if (target === 0) return false;
    items.copy(address, target, false);
    items.setWord(target, Word.valueBytes, 0);
    items.setWord(target, Word.state, asOnDisk(items.state(address)) | Bit.valueNonResident);
    (columns.nonResidentValues[items.vb(address)] as number) += 1;
    this.replaceChunk(address, target);
    return true;
  }

  /** Evicts the whole item. */
  dropItem(address: number): void {
    const { position } = this;
    const { nonResidentKeys, heap, index, items, recent, columns } = this.vbuckets;
    this.vbuckets.locateItem(position, address);
    const { vb } = position;
    if ((items.state(address) & Bit.valueNonResident) !== 0) (columns.nonResidentValues[vb] as number) -= 1;
    if ((items.state(address) & Bit.deleted) === 0) (columns.nonResidentItems[vb] as number) += 1;
    else columns.noteUncounted(vb, items.seqno(address));
    (columns.wholeEvictions[vb] as number) += 1;
    nonResidentKeys.add(vb, position.hash);
    recent.noteEvicted(vb, items.seqno(address));
    index.remove(vb, position.slot);
    heap.free(address);
  }

  /** Moves the item to another chunk outside its page; false when it cannot be moved now. */
  move(address: number): boolean {
    const { heap, items } = this.vbuckets;
    if ((items.state(address) & busyBits) !== 0) return false;
    const target = heap.allocate(items.bytes(address));
    if (target === 0) return false;
    items.copy(address, target, true);
    this.replaceChunk(address, target);
    return true;
  }

  /** Replaces the value by its Snappy block, in a smaller chunk; false when that would free nothing. */
  replaceByBlock(address: number, value: Buffer): boolean {
    const { heap, items } = this.vbuckets;
    const state = items.state(address);
    if ((state & busyBits) !== 0) return false;
    const bytes = headerBytes + keyBytesIn(state) + value.length;
    if (heap.fits(address, bytes)) return false;
    const target = heap.allocate(bytes);
    if (target === 0) return false;
    items.copy(address, target, false);
    items.setWord(target, Word.valueBytes, value.length);
    const compressed = withDatatype(state, datatypeIn(state) | Datatype.snappy);
    items.setWord(target, Word.state, compressed | Bit.compressedHere);
    value.copy(items.page(target), items.valueStart(target));
    this.replaceChunk(address, target);
    return true;
  }

  /** Whether the key, which is not in memory, must be looked up on disk. */
  mayBeOnDisk(vb: number, hash: number, key: Buffer, start: number, end: number): boolean {
    const { nonResidentKeys, columns } = this.vbuckets;
    if (!nonResidentKeys.mayHold(vb, hash)) return false;
    return this.absent.get(nameOf(vb, key, start, end)) !== columns.wholeEvictions[vb];
  }

  /** Caches that the disk has no such key. Valid until an item of the vbucket is evicted, since it may be this one. */
  noteAbsent(vb: number, key: Buffer): void {
    if (this.absent.size >= absentMax) this.absent.clear();
    this.absent.set(nameOf(vb, key, 0, key.length), this.vbuckets.columns.wholeEvictions[vb] as number);
  }

  /** Loads an item read from disk, unless memory has a newer version. False when there is no memory for it. */
  restore(vb: number, stored: CutItem): boolean {
    const { buffer, keyStart, keyEnd } = stored;
    const { items } = this.vbuckets;
    const hash = this.vbuckets.hash(buffer, keyStart, keyEnd);
    const address = this.vbuckets.locate(this.position, vb, hash, buffer, keyStart, keyEnd);
    if (address === 0) return this.takeItem(vb, stored);
    const isWanted =
      (items.state(address) & Bit.valueNonResident) !== 0 && items.seqno(address) === stored.seqno;
    return !isWanted || this.takeValue(address, stored);
  }

  /** Loads the value only, if it belongs to the version in memory and is still missing. Returns whether it did. */
  loadValue(vb: number, stored: CutItem): boolean {
    const { buffer, keyStart, keyEnd } = stored;
    const { items } = this.vbuckets;
    const hash = this.vbuckets.hash(buffer, keyStart, keyEnd);
    const address = this.vbuckets.locate(this.position, vb, hash, buffer, keyStart, keyEnd);
    if (address === 0 || (items.state(address) & Bit.valueNonResident) === 0) return false;
    return items.seqno(address) === stored.seqno && this.takeValue(address, stored);
  }

  /** At warm-up, when memory is full: the item stays on disk. `position` was located for its key. */
  leaveOnDisk({ vb, hash }: ItemPosition, draft: Draft, seqno: number): void {
    const { nonResidentKeys, columns } = this.vbuckets;
    if ((draft.bits & Bit.deleted) === 0) (columns.nonResidentItems[vb] as number) += 1;
    else columns.noteUncounted(vb, seqno);
    nonResidentKeys.add(vb, hash);
  }

  /** At warm-up, when memory is full: only the key is loaded. `position` was located for it. */
  keepKey(position: ItemPosition, draft: Draft, stored: CutItem): void {
    const hasValue = draft.valueEnd > draft.valueStart || (stored.bits & CutBits.valueOmitted) !== 0;
    draft.valueEnd = draft.valueStart;
    if (!this.vbuckets.restore(position, draft, stored))
      throw new RangeError('no memory for the stored keys');
    if (!hasValue) return;
    const { items, columns } = this.vbuckets;
    items.setBits(position.address, Bit.valueNonResident);
    (columns.nonResidentValues[position.vb] as number) += 1;
  }

  /** Forgets which keys the disk does not have. */
  discardAbsent(): void {
    this.absent.clear();
  }

  private takeItem(vb: number, stored: CutItem): boolean {
    const { draft, position, vbuckets } = this;
    if (!vbuckets.nonResidentKeys.mayHold(vb, position.hash)) return true;
    draftOfStored(stored, draft);
    if (!vbuckets.restore(position, draft, stored)) return false;
    vbuckets.items.setBits(position.address, Bit.used);
    if ((draft.bits & Bit.deleted) === 0) (vbuckets.columns.nonResidentItems[vb] as number) -= 1;
    return true;
  }

  private takeValue(address: number, stored: CutItem): boolean {
    const { position } = this;
    const { heap, index, items, columns } = this.vbuckets;
    const valueBytes = stored.valueEnd - stored.valueStart;
    const target = heap.allocate(items.bytes(address) + valueBytes);
    if (target === 0) return false;
    items.copy(address, target, false);
    items.setWord(target, Word.valueBytes, valueBytes);
    const state = (items.state(address) & ~Bit.valueNonResident) | Bit.used;
    items.setWord(target, Word.state, withDatatype(state, stored.datatype));
    stored.buffer.copy(items.page(target), items.valueStart(target), stored.valueStart, stored.valueEnd);
    (columns.nonResidentValues[position.vb] as number) -= 1;
    index.replace(position.vb, position.slot, target);
    heap.free(address);
    return true;
  }

  private replaceChunk(address: number, target: number): void {
    const { position } = this;
    const { heap, index } = this.vbuckets;
    this.vbuckets.locateItem(position, address);
    index.replace(position.vb, position.slot, target);
    heap.free(address);
  }
}

/** The state of an item with the datatype of its row. */
const asOnDisk = (state: number): number =>
  (state & Bit.compressedHere) === 0
    ? state
    : withDatatype(state & ~Bit.compressedHere, datatypeIn(state) & ~Datatype.snappy);

const nameOf = (vb: number, key: Buffer, start: number, end: number): string =>
  `${vb} ${key.toString('latin1', start, end)}`;
