// Removes the documents of dropped collections in the background, in slices: first what is in memory, then, where
// documents may be on disk only, what the disk still has of them.
import type { Clock, Timer } from '#ports/clock.ts';
import { collectionIdBytes, writeCollectionId } from '#wire/collection-id.ts';
import type { CollectionKeysRequest } from '../../data/disk-engine.ts';
import type { DocumentKey } from '../../data/document-keys.ts';
import type { Sweeper } from '../../vbucket/sweeper.ts';

/** Slots of the index in a slice, which takes a few milliseconds, and the pause after it, in which clients are served. */
const slotsPerSlice = 4000;
const pauseMs = 1;
/** Time for the flusher to write tombstones that a sweep has made. */
const retryPauseMs = 100;
/** Keys read from a file at once, and the pause after them, which leaves most of the disk to clients. */
const sweptKeysMax = 2000;
const diskPauseMs = 40;

export interface CollectionSweepOptions {
  sweeper: Pick<Sweeper, 'begin' | 'deleteStored' | 'restart' | 'slice' | 'sweeps'>;
  clock: Clock;
  /** Reads the clock before a slice of work. */
  tick: () => void;
  /** Null where every document is in memory. */
  disk: {
    fileCount: number;
    keys: (file: number, request: CollectionKeysRequest) => Promise<DocumentKey[]>;
  } | null;
}

export class CollectionSweep {
  private readonly options: CollectionSweepOptions;
  private timer: Timer | null = null;
  /** Dropped collections that may have documents on disk only. */
  private readonly onDisk = new Set<number>();
  /** Dropped collections of which the files had documents in vbuckets that this node did not sweep. */
  private readonly skipped = new Set<number>();
  /** Raised at each start and stop: results of reads for an earlier run are ignored. */
  private run = 0;

  constructor(options: CollectionSweepOptions) {
    this.options = options;
  }

  /**
   * Starts over: first in memory, in `vbs` and the vbuckets left from before, or in all without `vbs`; then in the files, for the collections
   * `removed` and those left from before. `vbs` have become active, so that documents that were skipped before are removed. The next drop also
   * reads again the collections that were skipped: most have their tombstones by then, and are forgotten.
   */
  begin(removed: readonly number[], vbs?: readonly number[]): void {
    const again = vbs === undefined && removed.length === 0 ? [] : this.skipped;
    for (const id of [...removed, ...again]) this.onDisk.add(id);
    this.run++;
    this.options.sweeper.begin(vbs);
    this.schedule(0, () => this.sweepMemory());
  }

  stop(): void {
    this.run++;
    this.onDisk.clear();
    this.timer?.cancel();
  }

  private sweepMemory(): void {
    const { sweeper } = this.options;
    const outcome = sweeper.slice(slotsPerSlice);
    if (outcome === 'again') sweeper.restart();
    if (outcome !== 'done')
      this.schedule(outcome === 'more' ? pauseMs : retryPauseMs, () => this.sweepMemory());
    else if (this.options.disk && this.onDisk.size > 0) void this.sweepDisk(this.run);
  }

  /** A file that cannot be read is swept at the next start. Tombstones left in memory are swept at the end. */
  private async sweepDisk(run: number): Promise<void> {
    const { disk } = this.options;
    for (const id of this.onDisk) {
      this.skipped.delete(id);
      for (let file = 0; file < (disk?.fileCount ?? 0); file++) {
        await this.sweepFile(run, file, id).catch(() => {});
        if (run !== this.run) return;
      }
      // Not at the end only: with each shard that becomes active, in a rebalance many, the sweep starts over.
      this.onDisk.delete(id);
    }
    this.begin([]);
  }

  private async sweepFile(run: number, file: number, id: number): Promise<void> {
    const { disk, sweeper, tick } = this.options;
    for (let after: DocumentKey | null = null; disk !== null; ) {
      const keys: DocumentKey[] = await disk.keys(file, {
        prefix: prefixOf(id),
        after,
        limit: sweptKeysMax,
      });
      if (run !== this.run) return;
      tick();
      if (keys.some(({ vb }) => !sweeper.sweeps(vb))) this.skipped.add(id);
      const isDone = keys.every((key) => sweeper.deleteStored(key.vb, key.key));
      if (isDone && keys.length < sweptKeysMax) return;
      // When memory had no room for a tombstone, the same keys are read again.
      if (isDone) after = keys.at(-1) as DocumentKey;
      await new Promise<void>((resolve) => this.schedule(diskPauseMs, resolve));
      if (run !== this.run) return;
    }
  }

  private schedule(delayMs: number, callback: () => void): void {
    this.timer?.cancel();
    this.timer = this.options.clock.after(delayMs, callback);
  }
}

function prefixOf(id: number): Buffer {
  const prefix = Buffer.alloc(collectionIdBytes(id));
  writeCollectionId(prefix, 0, id);
  return prefix;
}
