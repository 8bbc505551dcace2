// One hash table per vbucket: open addressing with linear probing, a slot being the key's 31-bit hash and the
// item's 32-bit address. Deletion shifts later entries back, so there are no tombstones to clean. A table starts empty and
// doubles; a thousand empty vbuckets cost a thousand references. A large table is rehashed incrementally, since doing so at once
// would stall the thread: meanwhile a vbucket has two tables, and each insertion moves some entries. Slots of the old table are
// numbered from `oldSlotBase` on.
import type { Heap } from './heap.ts';
import { headerBytes, Word } from './layout.ts';
import type { TurnLock } from './turn-lock.ts';

const noTable = new Uint32Array(new SharedArrayBuffer(8));
/** The words of a slot. Others number slots by their first word, so that the next slot is this much further. */
export const slotWords = 2;
const firstSlots = 8;
/** Larger tables (in words) are rehashed incrementally. */
const rehashedAtOnceMax = 2 ** 14;
/** Slots of the old table that each insertion visits; it is empty long before the new one is full. */
const slotsPerInsertion = 16;
const oldSlotBase = 2 ** 30;

export class KeyIndex {
  private readonly tables: Uint32Array[];
  /** By vbucket: the old table during a rehash, and how far the rehash is. */
  private readonly oldTables = new Map<number, { table: Uint32Array; next: number }>();
  private readonly counts: Uint32Array;
  /** One number: the bytes of all tables. */
  private readonly totals = new Float64Array(new SharedArrayBuffer(8));
  /** By vbucket: raised each time that its table is replaced, for other threads that read there. */
  readonly versions: Uint32Array;
  private readonly heap: Heap;
  private readonly lock: TurnLock;
  /** Counts the work of a table that grew: a few bytes of a request may cause as much work as a thousand other requests. */
  onGrown: ((workBytes: number) => void) | undefined;

  constructor(heap: Heap, vbucketCount: number) {
    this.heap = heap;
    this.lock = heap.lock;
    this.versions = new Uint32Array(new SharedArrayBuffer(4 * vbucketCount));
    this.tables = new Array<Uint32Array>(vbucketCount).fill(noTable);
    this.counts = new Uint32Array(new SharedArrayBuffer(4 * vbucketCount));
  }

  get bytes(): number {
    return this.totals[0] as number;
  }

  count(vb: number): number {
    return this.counts[vb] as number;
  }

  /** Reserves room in an empty vbucket for this many keys. */
  reserve(vb: number, count: number): void {
    if (count === 0 || this.tables[vb] !== noTable) return;
    let length = firstSlots * 2;
    while (count * 32 > length * 13) length *= 2;
    const table = new Uint32Array(new SharedArrayBuffer(length * 4));
    this.setTable(vb, table);
    this.totals[0] = this.bytes + table.byteLength;
  }

  /** The table of a vbucket that holds all of its keys, or during a rehash the newer ones. Other threads may read it. */
  sharedTable(vb: number): SharedArrayBuffer | null {
    return (this.tables[vb]?.buffer as SharedArrayBuffer | undefined) ?? null;
  }

  /** The slot of a key, or -1. */
  locate(vb: number, hash: number, key: Buffer, start: number, end: number): number {
    const table = this.tables[vb] as Uint32Array;
    const mask = table.length - 2;
    let slot = (hash << 1) & mask;
    for (;;) {
      const address = table[slot + 1] as number;
      if (address === 0) break;
      if (table[slot] === hash && this.holdsKey(address, key, start, end)) return slot;
      slot = (slot + 2) & mask;
    }
    return this.oldTables.size === 0 ? -1 : this.locateInOldTable(vb, hash, key, start, end);
  }

  private locateInOldTable(vb: number, hash: number, key: Buffer, start: number, end: number): number {
    const rehash = this.oldTables.get(vb);
    if (!rehash) return -1;
    return oldSlot(slotWhere(rehash.table, hash, (address) => this.holdsKey(address, key, start, end)));
  }

  /** The slot that points at an item, or -1. */
  locateAddress(vb: number, hash: number, address: number): number {
    return this.locateWhere(vb, hash, (found) => found === address);
  }

  /** The first slot with this hash for whose item `matches` returns true, or -1. */
  locateWhere(vb: number, hash: number, matches: (address: number) => boolean): number {
    const slot = slotWhere(this.tables[vb] as Uint32Array, hash, matches);
    if (slot >= 0 || this.oldTables.size === 0) return slot;
    const rehash = this.oldTables.get(vb);
    return rehash ? oldSlot(slotWhere(rehash.table, hash, matches)) : -1;
  }

  address(vb: number, slot: number): number {
    if (slot < oldSlotBase) return (this.tables[vb] as Uint32Array)[slot + 1] as number;
    return this.tableOf(vb, slot)[(slot & ~oldSlotBase) + 1] as number;
  }

  /** Points an occupied slot at another version of its key. */
  replace(vb: number, slot: number, address: number): void {
    this.lock.hold();
    this.tableOf(vb, slot)[(slot & ~oldSlotBase) + 1] = address;
  }

  /** Adds a key that is not in the index. */
  insert(vb: number, hash: number, address: number): void {
    this.lock.hold();
    const count = ((this.counts[vb] as number) += 1);
    let table = this.tables[vb] as Uint32Array;
    // Up to thirteen sixteenths full, linear probing sequences stay short.
    if (count * 32 > table.length * 13) table = this.grow(vb);
    put(table, hash, address);
    if (this.oldTables.size > 0) this.moveSome(vb, slotsPerInsertion);
  }

  remove(vb: number, slot: number): void {
    this.lock.hold();
    removeFrom(this.tableOf(vb, slot), slot & ~oldSlotBase);
    (this.counts[vb] as number) -= 1;
  }

  hash(vb: number, slot: number): number {
    return this.tableOf(vb, slot)[slot & ~oldSlotBase] as number;
  }

  /** Continues a rehash, for walks that were interrupted; returns whether one was under way. */
  continueRehash(vb: number): boolean {
    if (!this.oldTables.has(vb)) return false;
    this.lock.hold();
    this.moveSome(vb, slotsPerInsertion);
    return true;
  }

  /**
   * Where a walk over the slots of a vbucket ends: it visits the positions 0, 2, 4 … below this number, and `slotAt` returns the slot of each. During a
   * rehash the slots of the old table come first. An empty slot has the address 0.
   */
  end(vb: number): number {
    return (this.tables[vb] as Uint32Array).length + this.oldTableLength(vb);
  }

  /** The slot at a position of a walk. */
  slotAt(vb: number, position: number): number {
    const oldLength = this.oldTableLength(vb);
    return position < oldLength ? position + oldSlotBase : position - oldLength;
  }

  /** Removes every key of a vbucket; the caller frees the items. */
  clear(vb: number): void {
    this.lock.hold();
    const table = this.tables[vb] as Uint32Array;
    if (table !== noTable) this.totals[0] = this.bytes - table.byteLength;
    const rehash = this.oldTables.get(vb);
    if (rehash) this.discardOldTable(vb, rehash.table);
    this.setTable(vb, noTable);
    this.counts[vb] = 0;
  }

  private setTable(vb: number, table: Uint32Array): void {
    this.tables[vb] = table;
    (this.versions[vb] as number)++;
  }

  private holdsKey(address: number, key: Buffer, start: number, end: number): boolean {
    const page = address >>> 16;
    const unit = address & 0xffff;
    const words = this.heap.words[page] as Uint32Array;
    const length = end - start;
    if (((words[(unit << 2) + Word.state] as number) & 0xff) !== length) return false;
    const bytes = this.heap.bytes[page] as Buffer;
    const at = (unit << 4) + headerBytes;
    for (let i = 0; i < length; i++) if (bytes[at + i] !== key[start + i]) return false;
    return true;
  }

  private tableOf(vb: number, slot: number): Uint32Array {
    if (slot < oldSlotBase) return this.tables[vb] as Uint32Array;
    return (this.oldTables.get(vb) as { table: Uint32Array }).table;
  }

  private oldTableLength(vb: number): number {
    return this.oldTables.size === 0 ? 0 : (this.oldTables.get(vb)?.table.length ?? 0);
  }

  private grow(vb: number): Uint32Array {
    const old = this.tables[vb] as Uint32Array;
    const length = old === noTable ? firstSlots * 2 : old.length * 2;
    const table = new Uint32Array(new SharedArrayBuffer(length * 4));
    this.moveSome(vb, Infinity);
    this.setTable(vb, table);
    this.totals[0] = this.bytes + table.byteLength;
    if (old.length > rehashedAtOnceMax) this.oldTables.set(vb, { table: old, next: 0 });
    else this.moveAll(old, table);
    this.onGrown?.(table.byteLength);
    return table;
  }

  private moveAll(old: Uint32Array, table: Uint32Array): void {
    for (let slot = 0; slot < old.length; slot += 2) {
      const address = old[slot + 1] as number;
      if (address !== 0) put(table, old[slot] as number, address);
    }
    if (old !== noTable) this.totals[0] = this.bytes - old.byteLength;
  }

  /** Moves the entries of the next `slots` slots of the old table to the new one. */
  private moveSome(vb: number, slots: number): void {
    const rehash = this.oldTables.get(vb);
    if (!rehash) return;
    const { table: old } = rehash;
    const table = this.tables[vb] as Uint32Array;
    const end = Math.min(rehash.next + 2 * slots, old.length);
    for (; rehash.next < end; rehash.next += 2) {
      // Removing an entry may move a later one into the same slot: visit the slot until it is empty.
      for (let address = 0; (address = old[rehash.next + 1] as number) !== 0; ) {
        put(table, old[rehash.next] as number, address);
        removeFrom(old, rehash.next);
      }
    }
    if (end === old.length) this.discardOldTable(vb, old);
  }

  private discardOldTable(vb: number, table: Uint32Array): void {
    this.oldTables.delete(vb);
    this.totals[0] = this.bytes - table.byteLength;
  }
}

const oldSlot = (slot: number): number => (slot < 0 ? slot : slot + oldSlotBase);

function slotWhere(table: Uint32Array, hash: number, matches: (address: number) => boolean): number {
  const mask = table.length - 2;
  for (let slot = (hash << 1) & mask; table[slot + 1] !== 0; slot = (slot + 2) & mask) {
    if (table[slot] === hash && matches(table[slot + 1] as number)) return slot;
  }
  return -1;
}

function removeFrom(table: Uint32Array, slot: number): void {
  const mask = table.length - 2;
  let hole = slot;
  for (let at = (hole + 2) & mask; table[at + 1] !== 0; at = (at + 2) & mask) {
    const home = ((table[at] as number) << 1) & mask;
    // An entry may fill the hole unless its home slot is between the hole and itself.
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    table[hole] = table[at] as number;
    table[hole + 1] = table[at + 1] as number;
    hole = at;
  }
  table[hole + 1] = 0;
}

function put(table: Uint32Array, hash: number, address: number): void {
  const mask = table.length - 2;
  let slot = (hash << 1) & mask;
  while (table[slot + 1] !== 0) slot = (slot + 2) & mask;
  table[slot] = hash;
  table[slot + 1] = address;
}
