// The keys of one collection in one vbucket at one time, for scans: from memory, and also from disk where whole
// documents may have been evicted.
import { Status } from '#wire/status.ts';
import { CutBits, CutReader } from '../../data/cut.ts';
import type { BackfillPage } from '../../data/disk-engine.ts';
import { collectionIdOf } from '../../vbucket/live-collections.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import { KeyWalk } from './key-walk.ts';
import { type Sampling, sampleInSteps } from './sample.ts';
import { type SlicedWork, type Steps, sortedSetInSteps } from './sliced.ts';

/** Which keys to list. `accepts` gets the key with the collection id in front. */
export interface KeyQuery {
  vb: number;
  collection: number;
  accepts(buffer: Buffer, start: number, end: number): boolean;
  /** A change that must still be the latest of its document; 0 for none. */
  seqno: number;
  /** Limit of the list; each key counts with the memory that it takes. */
  bytesMax: number;
  /** At most this many, the first in order. */
  countMax: number;
  /** Lists these only. */
  sampling?: Sampling | null;
}

/**
 * Keys are listed as strings with a character for each byte, which are in the order of the bytes: the garbage collector moves a hundred
 * thousand strings in the time of a turn, and buffers in several times as much.
 */
export type WhenListed = (keys: string[] | Status) => void;

export type ReadRows = (vb: number, afterSeqno: number) => Promise<BackfillPage>;

/** Slots of the key index that one step visits. */
const slotsPerStep = 512;
/** Rows of the disk that one step takes. */
const rowsPerStep = 512;
/** Memory of a listed key besides its bytes. */
const keyOverhead = 64;
/** While they are listed, keys may be there twice: in memory and on disk, or from before and after a growth of the index. */
const copiesMax = 2;

/** Lists the keys, sorted; calls back synchronously when memory has them all and they are few. */
export function listKeys(
  { vbuckets, readRows, work }: { vbuckets: Vbuckets; readRows: ReadRows | null; work: SlicedWork },
  query: KeyQuery,
  done: WhenListed,
): void {
  const list = new KeyList(query);
  const sort = (): void => work.run(list.result(), done);
  work.run(listMemory(vbuckets, query, list), () => {
    if (readRows === null || vbuckets.rows.nonResidentItems[query.vb] === 0) sort();
    else void listDisk(readRows, { query, list, work }).then(sort, () => done(Status.temporaryFailure));
  });
}

class KeyList {
  private keys: string[] = [];
  private readonly query: KeyQuery;
  private bytes = 0;
  /** Keys after this one are beyond the limit. */
  private last: string | null = null;
  hasSeqno: boolean;

  constructor(query: KeyQuery) {
    this.query = query;
    this.hasSeqno = query.seqno === 0;
  }

  get isFull(): boolean {
    return this.bytes > copiesMax * this.query.bytesMax;
  }

  add(buffer: Buffer, start: number, end: number): void {
    if (collectionIdOf(buffer, start) !== this.query.collection) return;
    if (this.isFull || !this.query.accepts(buffer, start, end)) return;
    const key = buffer.toString('latin1', start, end);
    if (this.last !== null && key > this.last) return;
    this.bytes += key.length + keyOverhead;
    this.keys.push(key);
  }

  /** Drops the keys beyond the limit once there are twice as many. */
  *trim(): Steps<void> {
    const { countMax } = this.query;
    if (this.keys.length < 2 * countMax + slotsPerStep) return;
    this.keys = (yield* sortedSetInSteps(this.keys)).slice(0, countMax);
    this.bytes = bytesOf(this.keys);
    if (this.keys.length === countMax) this.last = this.keys.at(-1) ?? null;
  }

  *result(): Steps<string[] | Status> {
    if (!this.hasSeqno) return Status.notStored;
    if (this.isFull) return Status.busy;
    const { bytesMax, countMax, sampling } = this.query;
    const keys = (yield* sortedSetInSteps(this.keys)).slice(0, countMax);
    const isLong = keys.length > slotsPerStep;
    if (isLong) yield;
    if (bytesOf(keys) > bytesMax) return Status.busy;
    if (isLong) yield;
    return sampling ? yield* sampleInSteps(keys, sampling) : keys;
  }
}

const bytesOf = (keys: readonly string[]): number =>
  keys.reduce((sum, key) => sum + key.length + keyOverhead, 0);

function* listMemory({ index, items, now }: Vbuckets, query: KeyQuery, list: KeyList): Steps<void> {
  const walk = new KeyWalk(index, query.vb, (address) => {
    if (items.seqno(address) === query.seqno) list.hasSeqno = true;
    if (!items.isLive(address, now.seconds)) return;
    list.add(items.page(address), items.keyStart(address), items.valueStart(address));
  });
  while (!walk.slice(slotsPerStep) && !list.isFull) {
    yield* list.trim();
    yield;
  }
}

interface DiskListing {
  query: KeyQuery;
  list: KeyList;
  work: SlicedWork;
}

async function listDisk(readRows: ReadRows, { query, list, work }: DiskListing): Promise<void> {
  let after = 0;
  for (;;) {
    const page = await readRows(query.vb, after);
    await new Promise<void>((resolve) => work.run(takePage(page, query, list), resolve));
    if (page.toSeqno >= page.endSeqno || list.isFull) return;
    await new Promise<void>((resolve) => work.run(list.trim(), resolve));
    after = page.toSeqno;
  }
}

function* takePage({ batch }: BackfillPage, query: KeyQuery, list: KeyList): Steps<void> {
  const reader = new CutReader(batch);
  let rows = 0;
  while (reader.nextCut()) {
    while (reader.nextItem()) {
      const { item } = reader;
      if (item.seqno === query.seqno) list.hasSeqno = true;
      if ((item.bits & CutBits.deleted) === 0) list.add(item.buffer, item.keyStart, item.keyEnd);
      if (++rows % rowsPerStep === 0) yield;
    }
  }
}
