// Finds any live document of a collection, from a random start: first in memory, in slices between which clients are served,
// then on disk.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { CutReader, isDeleted, isExpired } from '../../data/cut.ts';
import type { BackfillPage } from '../../data/disk-engine.ts';
import { VbucketState } from '../../data/vbucket-state.ts';
import { slotWords } from '../../memory/key-index.ts';
import { collectionIdOf } from '../../vbucket/live-collections.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { ReadRows } from './key-scan.ts';

export interface FoundKey {
  vb: number;
  /** The key, with the collection id in front. */
  key: Buffer;
}

/** Called with a key, or with the status to answer. */
export type WhenFound = (found: FoundKey | Status) => void;

export interface RandomSearchOptions {
  vbuckets: Vbuckets;
  /** Null in buckets without a disk. */
  readRows: ReadRows | null;
  random: Random;
  clock: Clock;
  /** Updates the current time, which does not pass within a turn. */
  tick: () => void;
}

/** Positions of the index that one slice visits. */
const slicePositions = 4_096;
const timeoutMs = 5_000;

/** Calls back before it returns if the first slice finds a document. */
export function findRandomKey(options: RandomSearchOptions, collection: number, done: WhenFound): void {
  const search = new RandomSearch(options, collection);
  const walk = (): void => {
    const found = search.next();
    if (found !== null) done(found);
    else if (search.isMemorySearched) void search.onDisk().then(done, () => done(Status.temporaryFailure));
    else options.clock.soon(walk);
  };
  walk();
}

class RandomSearch {
  private readonly options: RandomSearchOptions;
  private readonly collection: number;
  private readonly firstVb: number;
  private readonly untilMs: number;
  private vbucketsDone = 0;
  private position = 0;

  constructor(options: RandomSearchOptions, collection: number) {
    const { clock, random, vbuckets } = options;
    this.options = options;
    this.collection = collection;
    this.firstVb = random.bytes(2).readUInt16LE() % vbuckets.columns.count;
    this.untilMs = clock.monotonicMs() + timeoutMs;
  }

  get isMemorySearched(): boolean {
    return this.vbucketsDone >= this.options.vbuckets.columns.count;
  }

  /** Visits the next positions in memory. */
  next(): FoundKey | null {
    this.options.tick();
    const { index } = this.options.vbuckets;
    for (let left = slicePositions; left > 0 && !this.isMemorySearched; left--) {
      const vb = this.vbAt(this.vbucketsDone);
      if (this.isActive(vb) && this.position < index.end(vb)) {
        const found = this.keyAt(vb, index.address(vb, index.slotAt(vb, this.position)));
        this.position += slotWords;
        if (found !== null) return found;
      } else {
        this.vbucketsDone++;
        this.position = 0;
      }
    }
    return null;
  }

  /** Searches the documents that are on disk only. */
  async onDisk(): Promise<FoundKey | Status> {
    const { clock, readRows, vbuckets } = this.options;
    for (let i = 0; readRows !== null && i < vbuckets.columns.count; i++) {
      const vb = this.vbAt(i);
      let page: BackfillPage | null = null;
      while (this.hasNonResident(vb) && (page === null || page.toSeqno < page.endSeqno)) {
        if (clock.monotonicMs() > this.untilMs) return Status.temporaryFailure;
        page = await readRows(vb, page?.toSeqno ?? 0);
        const key = this.keyIn(page);
        page.free?.();
        if (key !== null) return { vb, key };
      }
    }
    return Status.keyNotFound;
  }

  private hasNonResident(vb: number): boolean {
    return this.isActive(vb) && this.options.vbuckets.columns.nonResidentItems[vb] !== 0;
  }

  private isActive(vb: number): boolean {
    return this.options.vbuckets.columns.state[vb] === VbucketState.active;
  }

  private vbAt(index: number): number {
    return (this.firstVb + index) % this.options.vbuckets.columns.count;
  }

  private keyAt(vb: number, address: number): FoundKey | null {
    const { items, now } = this.options.vbuckets;
    if (address === 0 || !items.isLive(address, now.seconds)) return null;
    if (items.collectionId(address) !== this.collection) return null;
    const key = items.page(address).subarray(items.keyStart(address), items.valueStart(address));
    return { vb, key: Buffer.from(key) };
  }

  private keyIn({ batch }: BackfillPage): Buffer | null {
    const { now } = this.options.vbuckets;
    const reader = new CutReader(batch);
    while (reader.nextCut()) {
      while (reader.nextItem()) {
        const { item } = reader;
        const { buffer, keyEnd, keyStart } = item;
        const isLive = !isDeleted(item) && !isExpired(item, now.seconds);
        if (isLive && collectionIdOf(buffer, keyStart) === this.collection)
          return Buffer.from(buffer.subarray(keyStart, keyEnd));
      }
    }
    return null;
  }
}
