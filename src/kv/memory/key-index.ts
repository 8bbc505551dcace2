// One hash table per row (vbucket): open addressing with linear probing, a slot being the key's 32-bit hash and the
// item's 32-bit address. Deletion shifts later entries back, so there are no tombstones to clean. A table starts
// with nothing and doubles; memory-wise a thousand empty rows cost a thousand references.
import type { Heap } from './heap.ts';
import { headerBytes, Word } from './layout.ts';

const noTable = new Uint32Array(new SharedArrayBuffer(8));
const firstSlots = 8;

export class KeyIndex {
  private readonly tables: Uint32Array[];
  private readonly counts: Uint32Array;
  private readonly totals = new Float64Array(new SharedArrayBuffer(8));
  private readonly heap: Heap;

  constructor(heap: Heap, rowCount: number) {
    this.heap = heap;
    this.tables = new Array<Uint32Array>(rowCount).fill(noTable);
    this.counts = new Uint32Array(new SharedArrayBuffer(4 * rowCount));
  }

  get bytes(): number {
    return this.totals[0] as number;
  }

  count(row: number): number {
    return this.counts[row] as number;
  }

  /** The slot of a key, or -1. */
  locate(row: number, hash: number, key: Buffer, start: number, end: number): number {
    const table = this.tables[row] as Uint32Array;
    const mask = table.length - 2;
    let slot = (hash << 1) & mask;
    for (;;) {
      const address = table[slot + 1] as number;
      if (address === 0) return -1;
      if (table[slot] === hash && this.holdsKey(address, key, start, end)) return slot;
      slot = (slot + 2) & mask;
    }
  }

  /** The slot that points at an item, or -1. */
  locateAddress(row: number, hash: number, address: number): number {
    const table = this.tables[row] as Uint32Array;
    const mask = table.length - 2;
    for (let slot = (hash << 1) & mask; table[slot + 1] !== 0; slot = (slot + 2) & mask) {
      if (table[slot + 1] === address) return slot;
    }
    return -1;
  }

  /** The first slot with this hash whose item `isIt`, or -1. */
  locateWhere(row: number, hash: number, isIt: (address: number) => boolean): number {
    const table = this.tables[row] as Uint32Array;
    const mask = table.length - 2;
    for (let slot = (hash << 1) & mask; table[slot + 1] !== 0; slot = (slot + 2) & mask) {
      if (table[slot] === hash && isIt(table[slot + 1] as number)) return slot;
    }
    return -1;
  }

  address(row: number, slot: number): number {
    return (this.tables[row] as Uint32Array)[slot + 1] as number;
  }

  /** Points an occupied slot at another version of its key. */
  replace(row: number, slot: number, address: number): void {
    (this.tables[row] as Uint32Array)[slot + 1] = address;
  }

  /** Adds a key that is not there. */
  insert(row: number, hash: number, address: number): void {
    const count = ((this.counts[row] as number) += 1);
    let table = this.tables[row] as Uint32Array;
    // Thirteen sixteenths full is as far as linear probing stays short.
    if (count * 32 > table.length * 13) table = this.grow(row);
    put(table, hash, address);
  }

  remove(row: number, slot: number): void {
    const table = this.tables[row] as Uint32Array;
    const mask = table.length - 2;
    let hole = slot;
    for (let at = (hole + 2) & mask; table[at + 1] !== 0; at = (at + 2) & mask) {
      const home = ((table[at] as number) << 1) & mask;
      // An entry may fill the hole unless its home lies between the hole and itself.
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      table[hole] = table[at] as number;
      table[hole + 1] = table[at + 1] as number;
      hole = at;
    }
    table[hole + 1] = 0;
    (this.counts[row] as number) -= 1;
  }

  hash(row: number, slot: number): number {
    return (this.tables[row] as Uint32Array)[slot] as number;
  }

  /** Slots of a row, for walks from slot 0 in steps of 2; `address` of an empty one is 0. */
  end(row: number): number {
    return (this.tables[row] as Uint32Array).length;
  }

  /** Forgets every key of a row; the items are the caller's. */
  clear(row: number): void {
    const table = this.tables[row] as Uint32Array;
    if (table !== noTable) this.totals[0] = this.bytes - table.byteLength;
    this.tables[row] = noTable;
    this.counts[row] = 0;
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

  private grow(row: number): Uint32Array {
    const old = this.tables[row] as Uint32Array;
    const length = old === noTable ? firstSlots * 2 : old.length * 2;
    const table = new Uint32Array(new SharedArrayBuffer(length * 4));
    for (let slot = 0; slot < old.length; slot += 2) {
      const address = old[slot + 1] as number;
      if (address !== 0) put(table, old[slot] as number, address);
    }
    this.totals[0] = this.bytes + table.byteLength - (old === noTable ? 0 : old.byteLength);
    this.tables[row] = table;
    return table;
  }
}

function put(table: Uint32Array, hash: number, address: number): void {
  const mask = table.length - 2;
  let slot = (hash << 1) & mask;
  while (table[slot + 1] !== 0) slot = (slot + 2) & mask;
  table[slot] = hash;
  table[slot + 1] = address;
}
