// The keys of one collection in one vbucket at one time, for scans: from memory, and also from disk where whole
// documents may have been evicted.

import type { WorkSteps } from '#base/steps.ts';
import { Status } from '#wire/status.ts';
import { CutBits, type CutItem, CutReader } from '../../data/cut.ts';
import type { BackfillPage } from '../../data/disk-engine.ts';
import { Bit } from '../../memory/layout.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import { collectionIdOf } from '../../vbucket/live-collections.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import { KeyWalk } from './key-walk.ts';
import { copiedInSteps, ListedKeys, PackedKeys } from './packed-keys.ts';
import { type SamplingRequest, sampleInSteps } from './sample.ts';
import type { SlicedWork } from './sliced-work.ts';
import { sortedSetInSteps } from './sorted-set.ts';

/** Which keys to list. `accepts` gets the key with the collection id in front. */
export interface KeyQuery {
  vb: number;
  collection: number;
  accepts(buffer: Buffer, start: number, end: number): boolean;
  /** The seqno of a change that must still be the latest of its document; 0: no such change is required. */
  seqno: number;
  /** Limit of the memory of the list. */
  bytesMax: number;
  /** At most this many, the first in order. */
  countMax: number;
  /** Lists a random sample of the keys instead of all of them. */
  sampling?: SamplingRequest | null;
}

export type WhenListed = (keys: ListedKeys | Status) => void;

export type ReadRows = (vb: number, afterSeqno: number) => Promise<BackfillPage>;

/** Slots of the key index that one step visits. */
const slotsPerStep = 512;
/** Rows of the disk that one step takes. */
const rowsPerStep = 512;
/** Until it is sorted, a list may have a key twice: from memory and from disk, or from before and after a growth of the index. */
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
    if (readRows === null || vbuckets.columns.nonResidentItems[query.vb] === 0) sort();
    else
      void listDisk(readRows, { vbuckets, query, list, work }).then(sort, () =>
        done(Status.temporaryFailure),
      );
  });
}

class KeyList {
  private readonly query: KeyQuery;
  private packed = new PackedKeys();
  private places: Uint32Array = new Uint32Array(slotsPerStep);
  private length = 0;
  /** Keys after this one are beyond the limit. */
  private last: Buffer | null = null;
  /** A document whose latest change has the required seqno was found, or no seqno is required. */
  hasSeqno: boolean;

  constructor(query: KeyQuery) {
    this.query = query;
    this.hasSeqno = query.seqno === 0;
  }

  get isFull(): boolean {
    return this.packed.bytes + this.length * this.places.BYTES_PER_ELEMENT > copiesMax * this.query.bytesMax;
  }

  add(buffer: Buffer, start: number, end: number): void {
    const { last, query } = this;
    if (collectionIdOf(buffer, start) !== query.collection) return;
    if (this.isFull || !query.accepts(buffer, start, end)) return;
    if (last !== null && last.compare(buffer, start, end) < 0) return;
    if (this.length === this.places.length) this.places = grown(this.places);
    this.places[this.length++] = this.packed.add(buffer, start, end);
  }

  /** Drops the keys beyond the limit once there are twice as many. */
  *trim(): WorkSteps<void> {
    const { countMax } = this.query;
    if (this.length < 2 * countMax + slotsPerStep) return;
    const listed = yield* copiedInSteps(this.packed, (yield* this.sorted()).subarray(0, countMax));
    this.packed = listed.packed;
    this.places = listed.places;
    this.length = listed.length;
    if (listed.length > 0 && listed.length === countMax) this.last = listed.at(countMax - 1);
  }

  *result(): WorkSteps<ListedKeys | Status> {
    if (!this.hasSeqno) return Status.notStored;
    if (this.isFull) return Status.busy;
    const { bytesMax, countMax, sampling } = this.query;
    const { packed } = this;
    const places = (yield* this.sorted()).subarray(0, countMax);
    const keys = sampling
      ? yield* copiedInSteps(packed, yield* sampleInSteps(packed, places, sampling))
      : new ListedKeys(packed, places);
    return keys.bytes > bytesMax ? Status.busy : keys;
  }

  private sorted(): WorkSteps<Uint32Array> {
    return sortedSetInSteps(this.places.subarray(0, this.length), this.packed.compare);
  }
}

function grown(places: Uint32Array): Uint32Array {
  const larger = new Uint32Array(Math.max(2 * places.length, slotsPerStep));
  larger.set(places);
  return larger;
}

function* listMemory({ index, items, now }: Vbuckets, query: KeyQuery, list: KeyList): WorkSteps<void> {
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
  vbuckets: Vbuckets;
  query: KeyQuery;
  list: KeyList;
  work: SlicedWork;
}

async function listDisk(readRows: ReadRows, listing: DiskListing): Promise<void> {
  const { query, list, work } = listing;
  let after = 0;
  for (;;) {
    const page = await readRows(query.vb, after);
    await new Promise<void>((resolve) => work.run(listPage(page, listing), resolve));
    page.free?.();
    if (page.toSeqno >= page.endSeqno || list.isFull) return;
    await new Promise<void>((resolve) => work.run(list.trim(), resolve));
    after = page.toSeqno;
  }
}

function* listPage({ batch }: BackfillPage, { vbuckets, query, list }: DiskListing): WorkSteps<void> {
  const reader = new CutReader(batch);
  let rows = 0;
  while (reader.nextCut()) {
    while (reader.nextItem()) {
      const { item } = reader;
      if (item.seqno === query.seqno) list.hasSeqno = true;
      if ((item.bits & CutBits.deleted) === 0 && !isDeletedInMemory(vbuckets, query.vb, item))
        list.add(item.buffer, item.keyStart, item.keyEnd);
      if (++rows % rowsPerStep === 0) yield;
    }
  }
}

/** Whether memory has a deletion of the document, which the row may lack still. */
function isDeletedInMemory(vbuckets: Vbuckets, vb: number, { buffer, keyStart, keyEnd }: CutItem): boolean {
  const hash = vbuckets.hash(buffer, keyStart, keyEnd);
  const address = vbuckets.locate(position, vb, hash, buffer, keyStart, keyEnd);
  return address !== 0 && (vbuckets.items.state(address) & (Bit.deleted | Bit.pending)) === Bit.deleted;
}

const position = emptyPosition();
