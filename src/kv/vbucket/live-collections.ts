// The live collections of a bucket: their ids, maximum times to live and numbers of items.
// A collection has a slot, its index in the arrays below; counts and seqnos by vbucket are one typed array per slot. The slot of an id is in a
// small table, or in a map when the id is large.

import { vbucketsMax } from '../memory/layout.ts';

const smallIds = 1024;
const slotsMax = 2048;
/** Limit of collections that are counted before the manifest has them: an older manifest lacks few. */
const earlyMax = 256;

export interface CollectionSpec {
  id: number;
  /** Seconds, 0 = as the bucket, -1 = none. */
  maxTtl: number;
}

export class LiveCollections {
  private readonly small = new Int16Array(smallIds).fill(-1);
  private readonly large = new Map<number, number>();
  /** By slot. */
  private readonly maxTtls = new Int32Array(slotsMax);
  /** By slot: the items in all vbuckets. */
  private readonly counts = new Float64Array(slotsMax);
  /** By slot: the items in each vbucket; no array until the first document. */
  private readonly vbucketCounts: (Int32Array | undefined)[] = [];
  /** By slot: the latest seqno in each vbucket; no array until the first write. */
  private readonly highSeqnos: (Float64Array | undefined)[] = [];
  private readonly freeSlots: number[] = [];
  private usedSlots = 0;
  /** By id. */
  private readonly slots = new Map<number, number>();
  /** Slots of collections that clients cannot use yet: histories have them, but not the manifest. By id. */
  private readonly early = new Map<number, number>();
  /** Whether the history of a vbucket has this collection, which the manifest is too old for. */
  isNewer: (vb: number, id: number) => boolean = () => false;

  /** Slot of the collection whose id precedes the key, or -1 when there is no such collection. */
  slotOf(key: Buffer, start: number): number {
    const first = key[start] as number;
    return first < 0x80 ? (this.small[first] as number) : this.slotOfId(collectionIdOf(key, start));
  }

  /** As `slotOf`, also for a collection that the manifest lacks yet: its documents count once it is there. */
  countingSlot(key: Buffer, start: number, vb: number): number {
    const slot = this.slotOf(key, start);
    return slot < 0 ? this.earlySlot(vb, collectionIdOf(key, start)) : slot;
  }

  /** Whether the collection whose id precedes the key was dropped: neither the manifest has it nor, where that is older, the vbucket's history. */
  isGone(key: Buffer, start: number, vb: number): boolean {
    return this.slotOf(key, start) < 0 && !this.isNewer(vb, collectionIdOf(key, start));
  }

  has(id: number): boolean {
    return this.slots.has(id);
  }

  maxTtl(slot: number, bucketMaxTtl: number): number {
    const maxTtl = this.maxTtls[slot] as number;
    return maxTtl === 0 ? bucketMaxTtl : Math.max(maxTtl, 0);
  }

  addItems(slot: number, vb: number, count: number): void {
    if (slot < 0) return;
    (this.counts[slot] as number) += count;
    const counts = this.vbucketCounts[slot] ?? this.beginVbucketCounts(slot);
    (counts[vb] as number) += count;
  }

  /** Records the seqno of a change in the collection whose id precedes the key. */
  noteSeqno(key: Buffer, keyStart: number, vb: number, seqno: number): void {
    const slot = this.countingSlot(key, keyStart, vb);
    if (slot < 0) return;
    const seqnos = this.highSeqnos[slot] ?? this.beginSeqnos(slot);
    if (seqno > (seqnos[vb] as number)) seqnos[vb] = seqno;
  }

  /** Seqno of the latest change of the collection in a vbucket, 0 when none is known. */
  highSeqno(id: number, vb: number): number {
    return this.highSeqnos[this.slotOfId(id)]?.[vb] ?? 0;
  }

  /** The vbucket has no changes above this seqno any more. */
  lowerSeqnos(vb: number, seqno: number): void {
    for (const seqnos of this.highSeqnos) if (seqnos) seqnos[vb] = Math.min(seqnos[vb] as number, seqno);
  }

  /** The vbucket has no documents any more. */
  discardVbucket(vb: number): void {
    for (const seqnos of this.highSeqnos) if (seqnos) seqnos[vb] = 0;
    for (const [slot, counts] of this.vbucketCounts.entries()) {
      if (counts === undefined) continue;
      (this.counts[slot] as number) -= counts[vb] as number;
      counts[vb] = 0;
    }
  }

  /** Replaces the set of live ids; returns the ids that were dropped. */
  apply(specs: readonly CollectionSpec[]): number[] {
    const wanted = new Set(specs.map((spec) => spec.id));
    const removed = [...this.slots.keys()].filter((id) => !wanted.has(id));
    for (const id of removed) this.remove(id);
    for (const [id, slot] of this.early) if (!wanted.has(id) && this.counts[slot] === 0) this.dropEarly(id);
    for (const spec of specs) this.maxTtls[this.slots.get(spec.id) ?? this.add(spec.id)] = spec.maxTtl;
    return removed;
  }

  /** Live items by collection id. */
  itemCounts(): Map<number, number> {
    return new Map([...this.slots].map(([id, slot]) => [id, this.counts[slot] as number]));
  }

  /** Live items by collection id in some of the vbuckets. */
  itemCountsOf(isCounted: (vb: number) => boolean): Map<number, number> {
    const counted = Array.from({ length: vbucketsMax }, (_, vb) => vb).filter(isCounted);
    const sumOf = (slot: number) => {
      const counts = this.vbucketCounts[slot];
      return counts === undefined ? 0 : counted.reduce((sum, vb) => sum + (counts[vb] as number), 0);
    };
    return new Map([...this.slots].map(([id, slot]) => [id, sumOf(slot)]));
  }

  clearCounts(): void {
    this.counts.fill(0);
    for (const counts of this.vbucketCounts) counts?.fill(0);
  }

  private beginSeqnos(slot: number): Float64Array {
    const seqnos = new Float64Array(vbucketsMax);
    this.highSeqnos[slot] = seqnos;
    return seqnos;
  }

  private beginVbucketCounts(slot: number): Int32Array {
    const counts = new Int32Array(vbucketsMax);
    this.vbucketCounts[slot] = counts;
    return counts;
  }

  private slotOfId(id: number): number {
    return id < smallIds ? (this.small[id] as number) : (this.large.get(id) ?? -1);
  }

  private add(id: number): number {
    const slot = this.early.get(id) ?? this.emptySlot();
    this.early.delete(id);
    this.slots.set(id, slot);
    if (id < smallIds) this.small[id] = slot;
    else this.large.set(id, slot);
    return slot;
  }

  private emptySlot(): number {
    const slot = this.freeSlots.pop() ?? this.usedSlots++;
    if (slot >= slotsMax) throw new RangeError(`a bucket holds at most ${slotsMax} collections`);
    this.counts[slot] = 0;
    this.highSeqnos[slot] = undefined;
    this.vbucketCounts[slot] = undefined;
    return slot;
  }

  /** The slot of a collection that the manifest lacks; -1: it was dropped, or there are too many. */
  private earlySlot(vb: number, id: number): number {
    const found = this.early.get(id);
    if (found !== undefined) return found;
    const isFull = this.early.size >= earlyMax || (this.freeSlots.length === 0 && this.usedSlots >= slotsMax);
    if (isFull || !this.isNewer(vb, id)) return -1;
    const slot = this.emptySlot();
    this.early.set(id, slot);
    return slot;
  }

  private dropEarly(id: number): void {
    this.freeSlots.push(this.early.get(id) as number);
    this.early.delete(id);
  }

  private remove(id: number): void {
    this.freeSlots.push(this.slots.get(id) as number);
    this.slots.delete(id);
    this.large.delete(id);
    if (id < smallIds) this.small[id] = -1;
  }
}

/** The unsigned LEB128 number in front of a key. */
export function collectionIdOf(key: Uint8Array, start: number): number {
  let id = 0;
  for (let i = 0; i < 5; i++) {
    const byte = key[start + i] as number;
    id += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) break;
  }
  return id;
}
