// Reads documents in the memory of a bucket from a thread other than the data thread, without asking the data thread. It leaves out a
// document with which the data thread would do more than look it up: expire it, or fetch its value. The caller then asks the data thread
// for that document. It collects the keys of documents that the data thread has to mark as used. A sequence lock shows whether the data
// thread changed the memory meanwhile, and versions show whether tables and pages are still those that this thread knows.
import { changingSequence, SequenceLock } from '#base/sequence-lock.ts';
import {
  keyHeadBytes,
  type MemoryDocument,
  type MemoryGrant,
  type SharedPart,
} from '#wire/document-batch.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { hashKey } from './hash.ts';
import { ItemCopy, type ItemPage, type ReaderClock } from './item-copy.ts';
import { headerBytes, keyBytesIn, Word } from './layout.ts';
import { UnmarkedKeys } from './unmarked-keys.ts';

interface Page extends ItemPage {
  readonly version: number;
}

/** Takes a document that was read; `position` is that of the document's key. */
export type ReceiveDocument = (document: MemoryDocument, position: number) => void;

/** Keys whose look-ups are prepared together. */
const groupKeys = 32;
/** Words of a cache line of the processor. */
const lineWords = 16;
/** The processor itself prefetches the rest of a longer item. */
const touchedWordsMax = 512;

const noWords = new Uint32Array(0);
const noMemory = new SharedArrayBuffer(0);
const none = -1;

export class BucketMemory {
  /** A vbucket whose table this thread did not have when the last read needed it, and such a page; -1: none. */
  missingVbucket = none;
  missingPage = none;
  readonly unmarked = new UnmarkedKeys();
  private readonly grant: MemoryGrant;
  private readonly lock: SequenceLock;
  private readonly clock: ReaderClock;
  /** By the id of a collection that this thread may read: the counter, shared with the data thread, of documents read in it. */
  private readonly hits = new Map<number, Int32Array>();
  private readonly tables: (Page | undefined)[] = [];
  private readonly pages: (Page | undefined)[] = [];
  private readonly item = new ItemCopy();
  /** Vbuckets and hashes of a group of keys, and what their first slots have. */
  private readonly vbuckets = new Uint16Array(groupKeys);
  private readonly hashes = new Uint32Array(groupKeys);
  private readonly addresses = new Uint32Array(groupKeys);
  /** The sequence of the lock before the next documents are read. */
  private sequence = changingSequence;
  /** The result of `touch`: if nothing used what it reads, the compiler could remove the reads. */
  touched = 0;

  constructor(grant: MemoryGrant, clock: ReaderClock) {
    this.grant = { ...grant, tables: [], pages: [] };
    this.lock = new SequenceLock(grant.lock);
    this.clock = clock;
  }

  /** Whether the bucket was closed, or its collections changed. */
  get isRevoked(): boolean {
    return Atomics.load(this.grant.revocations, 0) !== this.grant.number;
  }

  /** Whether the data thread has granted reads of the collection. */
  knows(collection: number): boolean {
    return this.hits.has(collection) && !this.isRevoked;
  }

  /** Adds tables and pages that the data thread has sent. */
  add(collection: number, { hits, pages, tables }: MemoryGrant): void {
    this.hits.set(collection, hits);
    for (const part of tables) this.tables[part.number] = opened(part);
    for (const part of pages) this.pages[part.number] = opened(part);
  }

  /** Releases tables and pages that no longer belong to the bucket, and all once the grant has ended; returns how many bytes. */
  releaseOld(): number {
    const { pageVersions, tableVersions } = this.grant;
    return this.release(this.pages, pageVersions) + this.release(this.tables, tableVersions);
  }

  private release(parts: (Page | undefined)[], versions: Uint32Array): number {
    const { isRevoked } = this;
    let bytes = 0;
    for (const [number, part] of parts.entries()) {
      if (part === undefined || (part.version === versions[number] && !isRevoked)) continue;
      bytes += part.bytes.length;
      parts[number] = undefined;
    }
    return bytes;
  }

  /**
   * Calls `receive` with each document that this thread can read, and returns the positions of the others; null: reads of the collection
   * are not granted. `keys` are those of a KeysRequest.
   */
  read(collection: number, keys: Buffer, end: number, receive: ReceiveDocument): number[] | null {
    this.missingVbucket = none;
    this.missingPage = none;
    const hits = this.hits.get(collection);
    if (hits === undefined) return null;
    const { item } = this;
    const others: number[] = [];
    let position = 0;
    for (let at = 0; at < end; ) {
      const next = this.prepare(keys, at, end);
      for (let index = 0; at < next; index++, position++) {
        const keyAt = at + keyHeadBytes;
        const keyEnd = keyAt + u16(keys, at + 2);
        if (this.copy(index, keys, keyAt, keyEnd) && this.isNoted(keys, at, keyEnd)) receive(item, position);
        else others.push(position);
        at = keyEnd;
      }
    }
    Atomics.add(hits, 0, position - others.length);
    return others;
  }

  /**
   * Begins to read a group of documents, and returns where their keys end. It reads what the look-ups will read: in this loop the processor
   * waits for many cache lines at the same time; where each look-up is followed by work on its document, it waits for one after the other.
   */
  private prepare(keys: Buffer, start: number, end: number): number {
    const { grant, hashes, vbuckets } = this;
    let at = start;
    let count = 0;
    for (; at < end && count < groupKeys; count++) {
      const keyAt = at + keyHeadBytes;
      const keyEnd = keyAt + u16(keys, at + 2);
      vbuckets[count] = u16(keys, at);
      hashes[count] = hashKey(keys, keyAt, keyEnd, grant.hashSeed);
      at = keyEnd;
    }
    this.touch(count);
    this.sequence = this.beginSequence();
    return at;
  }

  private beginSequence(): number {
    return this.isRevoked ? changingSequence : this.lock.begin();
  }

  /** Reads the slot of each key of the group, then the beginning of each item, then the rest of the items. */
  private touch(count: number): void {
    const { addresses, hashes, pages, tables, vbuckets } = this;
    let sum = 0;
    for (let index = 0; index < count; index++) {
      const words = tables[vbuckets[index] as number]?.words ?? noWords;
      sum ^= words[((hashes[index] as number) << 1) & (words.length - 2)] ?? 0;
    }
    for (let index = 0; index < count; index++) {
      const words = tables[vbuckets[index] as number]?.words ?? noWords;
      const address = addressAt(words, hashes[index] as number);
      addresses[index] = address;
      sum ^= pages[address >>> 16]?.words[((address & 0xffff) << 2) + Word.valueBytes] ?? 0;
    }
    for (let index = 0; index < count; index++) {
      const address = addresses[index] as number;
      sum ^= touchItem(pages[address >>> 16]?.words ?? noWords, (address & 0xffff) << 2);
    }
    this.touched = sum;
  }

  /** Copies the item of a key of the group; false if the data thread must read the document. */
  private copy(index: number, keys: Buffer, start: number, end: number): boolean {
    const { item, lock, pages, sequence } = this;
    const vb = this.vbuckets[index] as number;
    if (sequence === changingSequence || !this.isServed(vb)) return false;
    const address = this.locate(vb, this.hashes[index] as number, keys, start, end);
    const isCopied = address !== 0 && item.copy(pages[address >>> 16] as Page, address & 0xffff, end - start);
    if (lock.isUnchanged(sequence)) return isCopied && item.isReadable(this.clock);
    this.sequence = this.beginSequence();
    return false;
  }

  /** Whether the copied item is marked as used, or will be. The key and its head are `keys[start, end)`. */
  private isNoted(keys: Buffer, start: number, end: number): boolean {
    return this.item.isMarked || this.unmarked.add(keys, start, end);
  }

  /**
   * Whether this node serves the vbucket, checked as in the data thread: once the time until which it serves is over, other nodes may be active.
   * States and times change together while the lock is held, so that `copy` does not use a time that belongs to another state.
   */
  private isServed(vb: number): boolean {
    const { clockStartMs, servedUntilMs, states } = this.grant;
    if (states[vb] !== VbucketState.active) return false;
    const untilMs = servedUntilMs[vb] ?? 0;
    return untilMs === Infinity || this.clock.processMs() - clockStartMs < untilMs;
  }

  /** The address of the item; 0 if this thread does not find it. */
  private locate(vb: number, hash: number, keys: Buffer, start: number, end: number): number {
    const table = this.tables[vb];
    if (table === undefined || table.version !== this.grant.tableVersions[vb]) {
      this.missingVbucket = vb;
      return 0;
    }
    const { words } = table;
    const mask = words.length - 2;
    let slot = (hash << 1) & mask;
    for (let left = words.length; left > 0; left -= 2) {
      const address = words[slot + 1] as number;
      if (address === 0) return 0;
      if (words[slot] === hash && this.holdsKey(address, keys, start, end)) return address;
      slot = (slot + 2) & mask;
    }
    return 0;
  }

  private holdsKey(address: number, keys: Buffer, start: number, end: number): boolean {
    const number = address >>> 16;
    const page = this.pages[number];
    if (page === undefined || page.version !== this.grant.pageVersions[number]) {
      this.missingPage = number;
      return false;
    }
    const unit = address & 0xffff;
    const length = end - start;
    if (keyBytesIn(page.words[(unit << 2) + Word.state] ?? 0) !== length) return false;
    const { bytes } = page;
    const at = (unit << 4) + headerBytes;
    for (let i = 0; i < length; i++) if (bytes[at + i] !== keys[start + i]) return false;
    return true;
  }
}

/** The address in the first slot with this hash, nearly always that of the key's item; 0: there is none. */
function addressAt(words: Uint32Array, hash: number): number {
  const mask = words.length - 2;
  let slot = (hash << 1) & mask;
  for (let left = words.length; left > 0; left -= 2) {
    const address = words[slot + 1] as number;
    if (words[slot] === hash || address === 0) return address;
    slot = (slot + 2) & mask;
  }
  return 0;
}

/** Reads a word of each line of the item, whose header begins at a position in the page. */
function touchItem(words: Uint32Array, header: number): number {
  const keyBytes = keyBytesIn(words[header + Word.state] ?? 0);
  const itemWords = (headerBytes + keyBytes + (words[header + Word.valueBytes] ?? 0)) >>> 2;
  const end = Math.min(words.length, header + Math.min(itemWords, touchedWordsMax));
  let sum = 0;
  for (let at = header; at < end; at += lineWords) sum ^= words[at] as number;
  return sum;
}

function opened({ memory, version }: SharedPart): Page {
  const readable = memory ?? noMemory;
  const { byteLength } = readable;
  return {
    version,
    words: new Uint32Array(readable, 0, byteLength / 4),
    bytes: Buffer.from(readable, 0, byteLength),
  };
}

const u16 = (bytes: Buffer, at: number): number => ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
