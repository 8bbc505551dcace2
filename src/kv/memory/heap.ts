// Slab allocator for the items of one bucket, off the JavaScript heap: shared 1 MiB pages, each divided into chunks of one
// size class. An address is a page number (high half) and an offset in units of 16 bytes; 0 is no address. A page whose last
// chunk is freed is released. Larger items get a buffer of their own under one page number. The state word distinguishes free chunks
// from live ones, so that pages can be walked item by item.
import { pagedMemory } from '#base/shared-memory.ts';
import { itemMemoryBytes, largeMemory, largeUnits } from './item-memory.ts';
import { headerBytes, Word } from './layout.ts';
import {
  classCount,
  classOf,
  classUnitsMax,
  pageBytes,
  pageUnits,
  unitBytes,
  unitsOf,
} from './size-classes.ts';
import { TurnLock } from './turn-lock.ts';

const pagesMax = 65536;
/** Class number of a page that is one large item. */
const large = 255;
/** Empty pages kept for reuse: this many, or this share of all if that is more. The garbage collector frees the others, slowly. */
const spareMin = 8;
const spareShare = 1 / 8;

/** What a scan for values knows of a page: nothing, no value found so far, no values. */
const ValueScan = { unknown: 0, noneSoFar: 1, none: 2 } as const;

/** Indexes in `totals`, of numbers of bytes. */
const Total = { touched: 0, allocated: 1, used: 2 } as const;

/** Allocates typed arrays from one large buffer: the system backs only those of its pages that are written to. */
class ArrayAllocator {
  private readonly memory = new SharedArrayBuffer(2 ** 21);
  private end = 0;

  allocate<T>(type: ArrayType<T>, count: number): T {
    const array = new type(this.memory, this.end, count);
    this.end += Math.ceil((count * type.BYTES_PER_ELEMENT) / 8) * 8;
    return array;
  }
}

interface ArrayType<T> {
  new (memory: SharedArrayBuffer, offset: number, count: number): T;
  readonly BYTES_PER_ELEMENT: number;
}

export class Heap {
  /** Held while items or indexes change. */
  readonly lock = new TurnLock();
  /** By page number. */
  readonly bytes: Buffer[] = [Buffer.alloc(0)];
  readonly words: Uint32Array[] = [new Uint32Array(0)];
  private readonly arrays = new ArrayAllocator();
  private readonly totals = this.arrays.allocate(Float64Array, 3);
  private readonly pageClass = this.arrays.allocate(Uint8Array, pagesMax);
  /** Live chunks of each page. */
  private readonly pageLive = this.arrays.allocate(Uint32Array, pagesMax);
  /** Units of each page that were allocated at least once; of a large item, its size. */
  private readonly pageCarved = this.arrays.allocate(Uint32Array, pagesMax);
  /** The first of each page's freed chunks, which form a list; 0 without any. */
  private readonly pageFree = this.arrays.allocate(Uint32Array, pagesMax);
  /** 1 for a page that is being emptied: nothing is allocated there. */
  private readonly pageEvacuated = this.arrays.allocate(Uint8Array, pagesMax);
  /** A `ValueScan` for each page. */
  private readonly pageValueScan = this.arrays.allocate(Uint8Array, pagesMax);
  /** Raised each time that a page gets other memory or loses it, for other threads that read there. */
  readonly pageVersions = this.arrays.allocate(Uint32Array, pagesMax);
  /** Neighbours of a page in the list of its class's pages with room. */
  private readonly pageNext = this.arrays.allocate(Uint16Array, pagesMax);
  private readonly pagePrevious = this.arrays.allocate(Uint16Array, pagesMax);
  /** For each class the first of its pages with room. */
  private readonly classHead = this.arrays.allocate(Uint32Array, classCount);
  private readonly freeNumbers: number[] = [];
  private readonly spares: SharedArrayBuffer[] = [];
  /** Called when pages for items that are not large were released: other threads should release them too. */
  readonly pagesReleased = new Set<() => void>();
  /** The `ValueScan` of a page before its last chunk was allocated. */
  private valueScanBefore = 0;

  /** Bytes allocated at least once and not released with their page: what the process really occupies. */
  get touchedBytes(): number {
    return this.totals[Total.touched] as number;
  }

  /** Bytes of all pages. */
  get allocatedBytes(): number {
    return this.totals[Total.allocated] as number;
  }

  /** Bytes of live chunks. */
  get usedBytes(): number {
    return this.totals[Total.used] as number;
  }

  /** Allocates at least `bytes`; returns the chunk's address, or 0 when there is no more memory. */
  allocate(bytes: number): number {
    const units = (bytes + unitBytes - 1) >>> 4;
    if (units > classUnitsMax) return this.allocateLarge(units);
    const sizeClass = classOf(units);
    const page = (this.classHead[sizeClass] as number) || this.addPage(sizeClass);
    return page === 0 ? 0 : this.takeChunk(page, unitsOf(sizeClass));
  }

  /**
   * Makes the memory a large item of `bytes`. Returns the item's address, or 0 if the memory has not the size of such an item. Nothing
   * else may write to the memory afterwards.
   */
  adopt(memory: SharedArrayBuffer, bytes: number): number {
    const units = (bytes + unitBytes - 1) >>> 4;
    if (units <= classUnitsMax || memory.byteLength !== itemMemoryBytes(bytes)) return 0;
    return this.takeLarge(memory, largeUnits(units));
  }

  /** As `allocate`, for a key alone: the page keeps its mark of having no values. */
  allocateKeyOnly(bytes: number): number {
    const address = this.allocate(bytes);
    this.pageValueScan[address >>> 16] = this.valueScanBefore;
    return address;
  }

  free(address: number): void {
    this.lock.hold();
    const page = address >>> 16;
    const sizeClass = this.pageClass[page] as number;
    if (sizeClass === large) this.freeLarge(page);
    else this.freeChunk(address, page, sizeClass);
  }

  private freeChunk(address: number, page: number, sizeClass: number): void {
    const size = unitsOf(sizeClass);
    const isUnlinked = this.isFull(page, size) || this.pageEvacuated[page] === 1;
    const words = this.words[page] as Uint32Array;
    const at = (address & 0xffff) << 2;
    words[at] = this.pageFree[page] as number;
    if (size * unitBytes >= headerBytes) words[at + Word.state] = 0;
    this.pageFree[page] = address;
    (this.totals[Total.used] as number) -= size * unitBytes;
    if (--(this.pageLive[page] as number) === 0) this.releasePage(page, sizeClass, isUnlinked);
    else if (isUnlinked && this.pageEvacuated[page] === 0) this.link(page, sizeClass);
  }

  /** True when an allocation of `bytes` would use a chunk of exactly this one's size. */
  fits(address: number, bytes: number): boolean {
    const page = address >>> 16;
    const sizeClass = this.pageClass[page] as number;
    const units = (bytes + unitBytes - 1) >>> 4;
    if (sizeClass !== large) return units <= classUnitsMax && classOf(units) === sizeClass;
    return units > classUnitsMax && largeUnits(units) === this.pageCarved[page];
  }

  /**
   * True when the item may be overwritten with `bytes`. Never for large items: replies are sent and heavy work is done from their
   * memory, which stays as it is after the item was freed, as long as there is a reference to it.
   */
  mayOverwrite(address: number, bytes: number): boolean {
    return this.pageClass[address >>> 16] !== large && this.fits(address, bytes);
  }

  /** Bytes that become touched when `bytes` are allocated. */
  growth(bytes: number): number {
    const units = (bytes + unitBytes - 1) >>> 4;
    if (units > classUnitsMax) return largeUnits(units) * unitBytes;
    const sizeClass = classOf(units);
    const page = this.classHead[sizeClass] as number;
    return this.pageFree[page] === 0 ? unitsOf(sizeClass) * unitBytes : 0;
  }

  /** Releases all pages at once. */
  clear(): void {
    this.lock.hold();
    for (let page = 1; page < this.bytes.length; page++) (this.pageVersions[page] as number)++;
    for (const note of this.pagesReleased) note();
    for (const array of [
      this.pageLive,
      this.pageCarved,
      this.pageFree,
      this.pageEvacuated,
      this.pageValueScan,
    ])
      array.fill(0, 0, this.bytes.length);
    this.totals.fill(0);
    this.classHead.fill(0);
    this.bytes.length = 1;
    this.words.length = 1;
    this.freeNumbers.length = 0;
  }

  /** The first live chunk of a page from number `from` on, or -1. */
  liveChunk(page: number, from: number): number {
    const size = this.chunkUnits(page);
    const words = this.words[page] as Uint32Array;
    const end = this.pageCarved[page] as number;
    for (let chunk = from, at = from * size; at < end; chunk++, at += size) {
      if (words[(at << 2) + Word.state] !== 0) return chunk;
    }
    return -1;
  }

  chunkAddress(page: number, chunk: number): number {
    return ((page << 16) | (chunk * this.chunkUnits(page))) >>> 0;
  }

  /** Memory of a page for other threads, which do not read large items; null: none. */
  sharedMemory(page: number): SharedArrayBuffer | null {
    const words = this.words[page];
    if (words === undefined || words.length === 0 || this.pageClass[page] === large) return null;
    return words.buffer as SharedArrayBuffer;
  }

  /** Whether live chunks take less than this share of a page, so that its items should be moved. */
  isSparse(page: number, share: number): boolean {
    const carved = this.pageCarved[page] as number;
    if (carved === 0 || this.pageClass[page] === large) return false;
    return (this.pageLive[page] as number) * this.chunkUnits(page) < carved * share;
  }

  /** Stops allocation from the page; it is released once its last item has moved away. */
  evacuate(page: number): void {
    if (this.pageEvacuated[page] === 1) return;
    if (!this.isFull(page, this.chunkUnits(page))) this.unlink(page, this.pageClass[page] as number);
    this.pageEvacuated[page] = 1;
  }

  isEvacuated(page: number): boolean {
    return this.pageEvacuated[page] === 1;
  }

  /** Whether no item of the page has a value that could be evicted, as the last scan has shown. */
  isValueFree(page: number): boolean {
    return this.pageValueScan[page] === ValueScan.none;
  }

  /** Begins a scan of the page for values. Allocations from now on count as values found. */
  beginValueScan(page: number): void {
    this.pageValueScan[page] = ValueScan.noneSoFar;
  }

  /** The scan has found a value. */
  noteValue(page: number): void {
    this.pageValueScan[page] = ValueScan.unknown;
  }

  /** Ends the scan of the page. */
  endValueScan(page: number): void {
    if (this.pageValueScan[page] === ValueScan.noneSoFar) this.pageValueScan[page] = ValueScan.none;
  }

  private chunkUnits(page: number): number {
    const sizeClass = this.pageClass[page] as number;
    return sizeClass === large ? Math.max(this.pageCarved[page] as number, 1) : unitsOf(sizeClass);
  }

  private takeChunk(page: number, size: number): number {
    let address = this.pageFree[page] as number;
    if (address !== 0) {
      this.pageFree[page] = (this.words[page] as Uint32Array)[(address & 0xffff) << 2] as number;
    } else {
      const offset = this.pageCarved[page] as number;
      address = ((page << 16) | offset) >>> 0;
      this.pageCarved[page] = offset + size;
      (this.totals[Total.touched] as number) += size * unitBytes;
    }
    this.valueScanBefore = this.pageValueScan[page] as number;
    this.pageValueScan[page] = ValueScan.unknown;
    (this.pageLive[page] as number)++;
    (this.totals[Total.used] as number) += size * unitBytes;
    if (this.isFull(page, size)) this.unlink(page, this.pageClass[page] as number);
    return address;
  }

  private isFull(page: number, size: number): boolean {
    return this.pageFree[page] === 0 && (this.pageCarved[page] as number) + size > pageUnits;
  }

  private addPage(sizeClass: number): number {
    const page = this.takeNumber(this.spares.pop() ?? pagedMemory(pageBytes));
    if (page === 0) return 0;
    this.pageClass[page] = sizeClass;
    this.link(page, sizeClass);
    return page;
  }

  private releasePage(page: number, sizeClass: number, isUnlinked: boolean): void {
    if (!isUnlinked) this.unlink(page, sizeClass);
    const memory = (this.words[page] as Uint32Array).buffer as SharedArrayBuffer;
    if (this.spares.length < Math.max(spareMin, this.bytes.length * spareShare)) this.spares.push(memory);
    (this.totals[Total.touched] as number) -= (this.pageCarved[page] as number) * unitBytes;
    this.releaseNumber(page, pageBytes);
    for (const note of this.pagesReleased) note();
  }

  private allocateLarge(units: number): number {
    const size = largeUnits(units);
    return this.takeLarge(largeMemory(size * unitBytes), size);
  }

  private takeLarge(memory: SharedArrayBuffer | null, size: number): number {
    const page = this.takeNumber(memory);
    if (page === 0) return 0;
    this.valueScanBefore = ValueScan.unknown;
    this.pageClass[page] = large;
    this.pageCarved[page] = size;
    (this.totals[Total.touched] as number) += size * unitBytes;
    (this.totals[Total.used] as number) += size * unitBytes;
    return (page << 16) >>> 0;
  }

  private freeLarge(page: number): void {
    const bytes = (this.pageCarved[page] as number) * unitBytes;
    (this.totals[Total.touched] as number) -= bytes;
    (this.totals[Total.used] as number) -= bytes;
    this.releaseNumber(page, bytes);
  }

  private takeNumber(memory: SharedArrayBuffer | null): number {
    if (memory === null) return 0;
    const page = this.freeNumbers.pop() ?? this.bytes.length;
    if (page >= pagesMax) return 0;
    (this.pageVersions[page] as number)++;
    this.bytes[page] = Buffer.from(memory, 0, memory.byteLength);
    this.words[page] = new Uint32Array(memory, 0, memory.byteLength / 4);
    (this.totals[Total.allocated] as number) += memory.byteLength;
    return page;
  }

  private releaseNumber(page: number, bytes: number): void {
    (this.pageVersions[page] as number)++;
    this.bytes[page] = this.bytes[0] as Buffer;
    this.words[page] = this.words[0] as Uint32Array;
    this.pageFree[page] = 0;
    this.pageCarved[page] = 0;
    this.pageEvacuated[page] = 0;
    this.pageValueScan[page] = ValueScan.unknown;
    this.freeNumbers.push(page);
    (this.totals[Total.allocated] as number) -= bytes;
  }

  private link(page: number, sizeClass: number): void {
    const head = this.classHead[sizeClass] as number;
    this.pageNext[page] = head;
    this.pagePrevious[page] = 0;
    if (head !== 0) this.pagePrevious[head] = page;
    this.classHead[sizeClass] = page;
  }

  private unlink(page: number, sizeClass: number): void {
    const next = this.pageNext[page] as number;
    const previous = this.pagePrevious[page] as number;
    if (previous === 0) this.classHead[sizeClass] = next;
    else this.pageNext[previous] = next;
    if (next !== 0) this.pagePrevious[next] = previous;
  }
}
