// The live collections of a bucket: their ids, maximum times to live and numbers of items.
// Counts are rows of typed arrays; an id is looked up in a small table, or a map when it is large.

import { rowsMax } from '../memory/layout.ts';

const smallIds = 1024;
const slotsMax = 2048;

export interface CollectionSpec {
  id: number;
  /** Seconds, 0 = as the bucket, -1 = none. */
  maxTtl: number;
}

export class LiveCollections {
  private readonly small = new Int16Array(smallIds).fill(-1);
  private readonly large = new Map<number, number>();
  private readonly maxTtls = new Int32Array(slotsMax);
  private readonly counts = new Float64Array(slotsMax);
  /** By slot: `counts` by vbucket; empty until the first document. */
  private readonly rowCounts: (Int32Array | undefined)[] = [];
  /** By slot: the latest seqno in each vbucket; empty until the first write. */
  private readonly highSeqnos: (Float64Array | undefined)[] = [];
  private readonly freeSlots: number[] = [];
  private usedSlots = 0;
  private readonly slots = new Map<number, number>();

  /** Row of the collection whose id precedes the key, or -1 when there is no such collection. */
  slotOf(key: Buffer, start: number): number {
    const first = key[start] as number;
    return first < 0x80 ? (this.small[first] as number) : this.slotOfId(collectionIdOf(key, start));
  }

  has(id: number): boolean {
    return this.slots.has(id);
  }

  maxTtl(slot: number, bucketMaxTtl: number): number {
    const maxTtl = this.maxTtls[slot] as number;
    return maxTtl === 0 ? bucketMaxTtl : Math.max(maxTtl, 0);
  }

  addItems(slot: number, row: number, count: number): void {
    if (slot < 0) return;
    (this.counts[slot] as number) += count;
    const rows = this.rowCounts[slot] ?? this.beginRowCounts(slot);
    (rows[row] as number) += count;
  }

  /** Records the seqno of a change in the collection whose id precedes the key. */
  noteSeqno(key: Buffer, keyStart: number, row: number, seqno: number): void {
    const slot = this.slotOf(key, keyStart);
    if (slot < 0) return;
    const seqnos = this.highSeqnos[slot] ?? this.beginSeqnos(slot);
    if (seqno > (seqnos[row] as number)) seqnos[row] = seqno;
  }

  /** Seqno of the latest change of the collection in a vbucket, 0 when none is known. */
  highSeqno(id: number, row: number): number {
    return this.highSeqnos[this.slotOfId(id)]?.[row] ?? 0;
  }

  /** The row has no documents any more. */
  discardRow(row: number): void {
    for (const seqnos of this.highSeqnos) if (seqnos) seqnos[row] = 0;
    for (const [slot, rows] of this.rowCounts.entries()) {
      if (rows === undefined) continue;
      (this.counts[slot] as number) -= rows[row] as number;
      rows[row] = 0;
    }
  }

  /** Replaces the set of live ids; returns the ids that were dropped. */
  apply(specs: readonly CollectionSpec[]): number[] {
    const wanted = new Set(specs.map((spec) => spec.id));
    const removed = [...this.slots.keys()].filter((id) => !wanted.has(id));
    for (const id of removed) this.remove(id);
    for (const spec of specs) this.maxTtls[this.slots.get(spec.id) ?? this.add(spec.id)] = spec.maxTtl;
    return removed;
  }

  /** Live items by collection id. */
  itemCounts(): Map<number, number> {
    return new Map([...this.slots].map(([id, slot]) => [id, this.counts[slot] as number]));
  }

  /** Live items by collection id in some of the vbuckets. */
  itemCountsOf(isCounted: (row: number) => boolean): Map<number, number> {
    const counted = Array.from({ length: rowsMax }, (_, row) => row).filter(isCounted);
    const sumOf = (slot: number) => {
      const rows = this.rowCounts[slot];
      return rows === undefined ? 0 : counted.reduce((sum, row) => sum + (rows[row] as number), 0);
    };
    return new Map([...this.slots].map(([id, slot]) => [id, sumOf(slot)]));
  }

  clearCounts(): void {
    this.counts.fill(0);
    for (const rows of this.rowCounts) rows?.fill(0);
  }

  private beginSeqnos(slot: number): Float64Array {
    const seqnos = new Float64Array(rowsMax);
    this.highSeqnos[slot] = seqnos;
    return seqnos;
  }

  private beginRowCounts(slot: number): Int32Array {
    const rows = new Int32Array(rowsMax);
    this.rowCounts[slot] = rows;
    return rows;
  }

  private slotOfId(id: number): number {
    return id < smallIds ? (this.small[id] as number) : (this.large.get(id) ?? -1);
  }

  private add(id: number): number {
    const slot = this.freeSlots.pop() ?? this.usedSlots++;
    if (slot >= slotsMax) throw new RangeError(`a bucket holds at most ${slotsMax} collections`);
    this.slots.set(id, slot);
    if (id < smallIds) this.small[id] = slot;
    else this.large.set(id, slot);
    this.counts[slot] = 0;
    this.highSeqnos[slot] = undefined;
    this.rowCounts[slot] = undefined;
    return slot;
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
