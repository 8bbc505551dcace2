// Requests about the keys of a bucket: list a range, find a random one, evict one.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import { collectionIdBytes } from '#wire/collection-id.ts';
import { Status } from '#wire/status.ts';
import type { ItemView } from '../../data/documents.ts';
import { Bit } from '../../memory/layout.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import type { LiveCollections } from '../../vbucket/live-collections.ts';
import type { Residency } from '../../vbucket/residency.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import { type KeyQuery, listKeys, type ReadRows, type WhenListed } from './key-scan.ts';
import { KeyWalk } from './key-walk.ts';
import { findRandomKey, type WhenFound } from './random-search.ts';
import { SlicedWork } from './sliced-work.ts';

export interface BucketKeysOptions {
  vbuckets: Vbuckets;
  residency: Residency;
  collections: LiveCollections;
  /** Null where there is no disk. */
  readRows: ReadRows | null;
  random: Random;
  clock: Clock;
  /** Updates the current time, which does not pass within a turn. */
  tick: () => void;
}

/** Slots of the key index that are visited in one turn, which takes a few milliseconds. */
export const visitedSlotsMax = 1 << 13;

export class BucketKeys {
  private readonly options: BucketKeysOptions;
  private readonly work: SlicedWork;

  constructor(options: BucketKeysOptions) {
    this.options = options;
    this.work = new SlicedWork(options.clock);
  }

  /** Lists the sorted keys of live documents, at once or after reading the disk. */
  list(query: KeyQuery, done: WhenListed): void {
    listKeys({ ...this.options, work: this.work }, query, done);
  }

  /**
   * Shows every live document of a collection in a vbucket in one turn; `isResident`: its value is in memory. `keyStart` is after the
   * collection id. False: there are too many for one turn, or some are on disk only.
   */
  visitAll(
    vb: number,
    collection: number,
    view: ItemView,
    visit: (keyStart: number, isResident: boolean) => void,
  ): boolean {
    const { index, items, now, columns } = this.options.vbuckets;
    if (this.slots(vb) > visitedSlotsMax || columns.nonResidentItems[vb] !== 0) return false;
    const idBytes = collectionIdBytes(collection);
    const walk = new KeyWalk(index, vb, (address) => {
      if (items.collectionId(address) !== collection || !items.isLive(address, now.seconds)) return;
      items.show(address, now, view);
      visit(view.keyStart + idBytes, (items.state(address) & Bit.valueNonResident) === 0);
    });
    while (!walk.slice(visitedSlotsMax));
    return true;
  }

  /** Slots of the key index that `visitAll` visits. */
  slots(vb: number): number {
    return this.options.vbuckets.index.end(vb) / 2;
  }

  /** Finds the key of some live document of a collection, at once or after reading the disk. */
  findRandom(collectionId: number, done: WhenFound): void {
    const { collections } = this.options;
    if ((collections.itemCounts().get(collectionId) ?? 0) === 0) done(Status.keyNotFound);
    else findRandomKey(this.options, collectionId, done);
  }

  /** Evicts a document's value, or all of it, as the bucket's policy says. */
  evict(vb: number, key: Buffer): Status {
    return evictKey(this.options.vbuckets, this.options.residency, vb, key);
  }
}

/**
 * Evicts one document at an administrator's request, for tests of how it is loaded again. Returns keyExists when the document cannot be
 * evicted now: it is not on disk yet, locked, or has a pending write.
 */
function evictKey(vbuckets: Vbuckets, residency: Residency, vb: number, key: Buffer): Status {
  const { items } = vbuckets;
  const address = vbuckets.locate(emptyPosition(), vb, vbuckets.hash(key, 0, key.length), key, 0, key.length);
  if (address === 0) return Status.keyNotFound;
  if (!residency.isEvictable(address)) return Status.keyExists;
  if (residency.policy === 'fullEviction') residency.dropItem(address);
  else if ((items.state(address) & Bit.valueNonResident) === 0) residency.dropValue(address);
  return Status.success;
}
