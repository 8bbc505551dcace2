// Background tasks of a bucket: freeing documents of dropped collections, expiring documents, compressing values,
// compacting files.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { EvictionPolicy } from '../../admin.ts';
import { Compressor } from '../../vbucket/compressor.ts';
import type { Expirer } from '../../vbucket/expirer.ts';
import type { LiveCollections } from '../../vbucket/live-collections.ts';
import type { Residency } from '../../vbucket/residency.ts';
import { makesSeqnos } from '../../vbucket/serving.ts';
import { Sweeper } from '../../vbucket/sweeper.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { MemoryDocuments } from '../documents/memory-documents.ts';
import { collectionKeysOf, expiredKeysOf, readerOf, type Storage } from '../keys/read-rows.ts';
import { CollectionSweep } from './collection-sweep.ts';
import { Compaction } from './compaction.ts';
import { ExpiryPager, expiryPagerSecondsDefault } from './expiry-pager.ts';
import { KeyFilterRebuild } from './key-filter-rebuild.ts';
import { ValueCompression } from './value-compression.ts';

export interface BackgroundWorkOptions {
  vbuckets: Vbuckets;
  residency: Residency;
  compresses: () => boolean;
  collections: LiveCollections;
  documents: MemoryDocuments;
  expirer: Expirer;
  policy: EvictionPolicy;
  storage: Storage | undefined;
  expiryPagerSeconds: number | undefined;
  clock: Clock;
  log: Log;
  /** Reads the clock before a slice of work. */
  tick: () => void;
  /** Whether changes will be persisted. */
  isPersistent: () => boolean;
  isServed: () => boolean;
  onDirty: (vb: number) => void;
}

export class BackgroundWork {
  readonly compaction: Compaction;
  readonly compressor: Compressor;
  readonly compression: ValueCompression;
  private readonly sweep: CollectionSweep;
  private readonly expiryPager: ExpiryPager;
  /** Null where no documents are on disk only. */
  private readonly filters: KeyFilterRebuild | null;

  constructor(options: BackgroundWorkOptions) {
    const { policy, storage } = options;
    // Only under this policy are whole documents on disk only.
    const fullEvictionStorage = policy === 'fullEviction' ? storage : undefined;
    this.compaction = compactionOf(options);
    this.compressor = new Compressor(options.vbuckets, options.residency);
    this.compression = new ValueCompression({
      compressor: this.compressor,
      columns: options.vbuckets.columns,
      clock: options.clock,
      isOn: options.compresses,
    });
    this.sweep = sweepOf(options, fullEvictionStorage);
    this.expiryPager = pagerOf(options, fullEvictionStorage);
    this.filters = filtersOf(options, fullEvictionStorage);
  }

  start(): void {
    this.expiryPager.start();
    this.compression.start();
    this.filters?.start();
  }

  /** Pauses all but compaction, which runs until it is stopped. */
  pause(): void {
    this.expiryPager.stop();
    this.compression.stop();
    this.filters?.stop();
    this.sweep.stop();
  }

  /** Frees the documents of these collections. */
  free(removed: readonly number[]): void {
    if (removed.length > 0) this.sweep.begin(removed);
  }

  /** Frees what earlier sweeps left in the memory of these vbuckets: they were not active, or had changes of dropped collections still to come. */
  sweepAgain(vbs: readonly number[]): void {
    this.sweep.begin([], vbs);
  }

  /** Sets the interval of the expiry pager. */
  expireEvery(seconds: number): void {
    this.expiryPager.every(seconds);
  }
}

function compactionOf({ clock, isServed, log, storage, vbuckets }: BackgroundWorkOptions): Compaction {
  const { disk, files } = storage ?? {};
  const from = disk && files && { disk, bucketUuid: files.bucketUuid, fileCount: files.fileCount };
  return new Compaction({ vbuckets, storage: from ?? null, isServed, clock, log });
}

function filtersOf(
  { clock, vbuckets }: BackgroundWorkOptions,
  storage: Storage | undefined,
): KeyFilterRebuild | null {
  return storage ? new KeyFilterRebuild({ vbuckets, clock, readRows: readerOf(storage) }) : null;
}

function sweepOf(options: BackgroundWorkOptions, fullEvictionStorage: Storage | undefined): CollectionSweep {
  const { clock, collections, isPersistent, onDirty, tick, vbuckets } = options;
  const hasDisk = options.storage !== undefined;
  const sweeper = new Sweeper({ vbuckets, collections, hasDisk, isPersistent, onDirty });
  return new CollectionSweep({
    sweeper,
    clock,
    tick,
    disk: fullEvictionStorage ? collectionKeysOf(fullEvictionStorage) : null,
  });
}

function pagerOf(options: BackgroundWorkOptions, fullEvictionStorage: Storage | undefined): ExpiryPager {
  const { clock, documents, expirer, tick, vbuckets } = options;
  const { items, now } = vbuckets;
  return new ExpiryPager({
    clock,
    expirer,
    seconds: options.expiryPagerSeconds ?? expiryPagerSecondsDefault,
    tick,
    visit: (vb, key, done) => documents.visit(vb, key, done),
    expiresHere: (vb) => makesSeqnos(vbuckets.columns, vb),
    keyAt: (address) => ({
      vb: items.vb(address),
      key: items.page(address).subarray(items.keyStart(address), items.valueStart(address)),
    }),
    disk: fullEvictionStorage ? expiredKeysOf(fullEvictionStorage, now) : null,
  });
}
