// The parts of one bucket and how they are wired: which part calls which. Their life cycle is in bucket.ts.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { BucketType, EvictionPolicy, Manifest, ShardSpec } from '../admin.ts';
import { type BucketFiles, fileOf } from '../data/disk-engine.ts';
import { ClockDrift } from '../vbucket/clock-drift.ts';
import { Cutter } from '../vbucket/cutter.ts';
import { EventRecorder } from '../vbucket/event-recorder.ts';
import { Expirer } from '../vbucket/expirer.ts';
import { LiveCollections } from '../vbucket/live-collections.ts';
import type { Now } from '../vbucket/now.ts';
import { Residency } from '../vbucket/residency.ts';
import { Vbuckets } from '../vbucket/vbuckets.ts';
import { ChangeFeed } from './change-feed.ts';
import { Applier } from './documents/applier.ts';
import { MemoryDocuments } from './documents/memory-documents.ts';
import { DurableWrites } from './durability/durable-writes.ts';
import { Flusher } from './durability/flusher.ts';
import { VbucketProgress } from './durability/progress.ts';
import { BackgroundFetches } from './fetch/background-fetches.ts';
import { storeFetched } from './fetch/fetch-intake.ts';
import { BucketKeys } from './keys/bucket-keys.ts';
import { readerOf, type Storage } from './keys/read-rows.ts';
import { MemoryKeeper } from './quota/memory-keeper.ts';
import { VbucketRollbacks } from './rollback/vbucket-rollbacks.ts';
import type { BucketRules } from './rules.ts';
import { RunningRemovals } from './running-removals.ts';
import { Timings } from './timings.ts';
import { BackgroundWork } from './upkeep/background-work.ts';
import { WarmUp } from './warm-up.ts';

const vbucketCountDefault = 1024;
const driftLimitsMsDefault = { ahead: 5000, behind: 5000 };

export interface BucketOptions {
  type: BucketType;
  rules: BucketRules;
  /** Absent: `valueOnly` if there is a disk, else `noEviction`. */
  evictionPolicy?: EvictionPolicy;
  /** Priority of the bucket's commits on a disk shared by buckets. */
  priority?: 'low' | 'high';
  expiryPagerSeconds?: number;
  /** The collections at start; without it only the default collection. */
  manifest?: Manifest;
  /** At start; without them every vbucket is active. */
  shards?: readonly ShardSpec[] | undefined;
  /** Native buckets only. */
  storage?: Storage;
  /**
   * Called once the files are open, before their documents are loaded. `stoppedBoots`: the boot ids of the processes that closed the files
   * cleanly; empty if none did. `wereUsed`: an earlier engine had the files open.
   */
  filesOpened?: ((stoppedBoots: readonly string[], wereUsed: boolean) => void) | undefined;
  vbucketCount?: number;
  /** Shared by all buckets of a thread; the host sets it before it passes input on. */
  now: Now;
  clock: Clock;
  /** Counts work towards the turn of the thread (`TurnClock.countWork`) if it does not show in the size of the request that causes it. */
  countWork?: ((workBytes: number) => void) | undefined;
  random: Random;
  log: Log;
}

/** What the parts ask of the bucket's life cycle, and report to it. */
export interface BucketHooks {
  isServed: () => boolean;
  /** Whether changes will be persisted. */
  isPersistent: () => boolean;
  onDiskFailure: (reason: string) => void;
  /** Called with a reason when the disk is full, and with null when it has space again. */
  onDiskFull: (reason: string | null) => void;
}

export class BucketParts {
  readonly documents: MemoryDocuments;
  readonly applier: Applier;
  readonly changes: ChangeFeed;
  readonly rules: Required<Pick<BucketRules, 'clockDriftMs'>> & BucketRules;
  readonly drift: { readonly active: ClockDrift; readonly replica: ClockDrift };
  readonly keys: BucketKeys;
  readonly vbuckets: Vbuckets;
  readonly cutter: Cutter;
  readonly events: EventRecorder;
  readonly durableWrites: DurableWrites;
  readonly progress: VbucketProgress;
  readonly flusher: Flusher | null;
  readonly residency: Residency;
  readonly keeper: MemoryKeeper;
  readonly expirer: Expirer;
  readonly fetches: BackgroundFetches | null;
  readonly warmUp: WarmUp | null;
  readonly background: BackgroundWork;
  readonly rollbacks: VbucketRollbacks;
  readonly removals = new RunningRemovals();
  readonly collections = new LiveCollections();
  readonly timings = new Timings();
  private readonly filesWithDamagedRows = new Set<number>();
  private readonly options: BucketOptions;
  private readonly hooks: BucketHooks;

  constructor(options: BucketOptions, hooks: BucketHooks) {
    const { clock, now, random, storage, type } = options;
    this.options = options;
    this.hooks = hooks;
    this.rules = { clockDriftMs: driftLimitsMsDefault, ...options.rules };
    this.drift = { active: new ClockDrift(now, this.rules), replica: new ClockDrift(now, this.rules) };
    this.vbuckets = new Vbuckets({
      count: options.vbucketCount ?? vbucketCountDefault,
      now,
      collections: this.collections,
      hashSeed: random.bytes(4).readInt32LE(),
      isPersistent: type === 'native',
    });
    this.vbuckets.index.onGrown = options.countWork;
    this.cutter = new Cutter(this.vbuckets);
    this.events = new EventRecorder({
      vbuckets: this.vbuckets,
      clock,
      countWork: options.countWork,
      isPersistent: type === 'native',
      onDirty: (vb) => this.flusher?.noteDirty(vb, false),
      // Copies in memory alone get no tombstones of the documents.
      ...(storage === undefined && { onDropApplied: (vb: number) => this.background.sweepAgain([vb]) }),
    });
    this.collections.isNewer = (vb, id) => this.events.isNewer(vb, id);
    this.progress = new VbucketProgress(this.vbuckets.columns, clock, this.rules, storage !== undefined);
    this.durableWrites = new DurableWrites({
      vbuckets: this.vbuckets,
      progress: this.progress,
      clock,
      resolved: (token, status) => this.documents.onResolved(token, status),
    });
    this.flusher = storage ? this.makeFlusher(storage) : null;
    const policy = options.evictionPolicy ?? (storage ? 'valueOnly' : 'noEviction');
    this.residency = new Residency(this.vbuckets, policy);
    this.changes = this.makeChanges();
    this.keeper = this.makeKeeper(policy);
    this.expirer = new Expirer(this.vbuckets, (vb) => this.flusher?.noteDirty(vb, false));
    this.fetches = storage ? this.makeFetches(storage) : null;
    this.warmUp = storage ? this.makeWarmUp(storage) : null;
    this.documents = this.makeDocuments();
    this.applier = this.makeApplier();
    // Durable writes become visible before streams read them.
    this.progress.notify(this.keeper, this.events, this.durableWrites, this.changes);
    this.progress.notifyCommitted(this.durableWrites, this.changes);
    this.background = this.makeBackground(policy);
    this.keys = this.makeKeys();
    const { collections, cutter, events, isFull, residency, vbuckets } = this;
    const memory = { collections, cutter, events, isFull, residency, vbuckets };
    const statesWritten = async (): Promise<void> => await this.flusher?.statesWritten();
    this.rollbacks = new VbucketRollbacks({ ...memory, storage, statesWritten });
  }

  private makeWarmUp({ disk, files }: Storage): WarmUp {
    const { clock, log, random } = this.options;
    const { collections, events, isFull, residency, vbuckets } = this;
    const memory = { vbuckets, collections, residency, events, isFull };
    return new WarmUp({ ...memory, disk, files, random, clock, log });
  }

  private makeFlusher(storage: Storage): Flusher {
    const { columns } = this.vbuckets;
    return new Flusher({
      disk: storage.disk,
      bucketUuid: storage.files.bucketUuid,
      fileCount: storage.files.fileCount,
      columns,
      cutter: this.cutter,
      clock: this.options.clock,
      log: this.options.log,
      timings: this.timings,
      priority: this.options.priority ?? 'low',
      roomBytes: () => this.keeper.lowBytes - this.keeper.usedBytes,
      progress: this.progress,
      onFailure: (file, reason) => this.hooks.onDiskFailure(`file ${file}: ${reason}`),
      onFull: this.hooks.onDiskFull,
    });
  }

  private makeKeys(): BucketKeys {
    const { clock, random, storage } = this.options;
    const { collections, residency, vbuckets } = this;
    const readRows = storage ? readerOf(storage) : null;
    const tick = () => this.tick();
    return new BucketKeys({ vbuckets, residency, collections, readRows, random, clock, tick });
  }

  private makeBackground(policy: EvictionPolicy): BackgroundWork {
    const { clock, expiryPagerSeconds, log, storage } = this.options;
    const { collections, documents, expirer, residency, rules, vbuckets } = this;
    return new BackgroundWork({
      compresses: () => rules.compresses ?? false,
      vbuckets,
      residency,
      collections,
      documents,
      expirer,
      policy,
      storage,
      expiryPagerSeconds,
      clock,
      log,
      tick: () => this.tick(),
      isPersistent: this.hooks.isPersistent,
      isServed: this.hooks.isServed,
      onDirty: (vb) => this.flusher?.noteDirty(vb, false),
    });
  }

  private makeKeeper(policy: EvictionPolicy): MemoryKeeper {
    const { changes, flusher, vbuckets, residency } = this;
    return new MemoryKeeper({
      type: this.options.type,
      policy,
      rules: this.rules,
      vbuckets,
      residency,
      clock: this.options.clock,
      tick: () => this.tick(),
      otherBytes: () => (flusher?.bytes ?? 0) + changes.bytes,
    });
  }

  private makeFetches({ disk, files }: Storage): BackgroundFetches {
    const { collections, keeper, residency, vbuckets } = this;
    const intake = { vbuckets, collections, residency, keeper };
    return new BackgroundFetches({
      disk,
      bucketUuid: files.bucketUuid,
      fileCount: files.fileCount,
      clock: this.options.clock,
      timings: this.timings,
      tick: () => this.tick(),
      store: (request, item) => storeFetched(intake, request, item),
      isCurrent: ({ clears, vb }) => clears === vbuckets.columns.clears[vb],
      noteAbsent: (vb, key) => residency.noteAbsent(vb, key),
      noteDamaged: (vb) => this.noteDamagedRow(files, fileOf(vb, files.fileCount)),
    });
  }

  private makeDocuments(): MemoryDocuments {
    const { flusher } = this;
    return new MemoryDocuments({
      residency: this.residency,
      keeper: this.keeper,
      expirer: this.expirer,
      drift: this.drift.active,
      reads: this.fetches,
      type: this.options.type,
      rules: this.rules,
      vbuckets: this.vbuckets,
      collections: this.collections,
      events: this.events,
      durableWrites: this.durableWrites,
      progress: this.progress,
      onDirty: (vb, isUrgent) => flusher?.noteDirty(vb, isUrgent),
      onPersistenceAwaited: (vb) => flusher?.writeSoon(vb),
    });
  }

  private makeApplier(): Applier {
    const { drift, events, fetches, flusher, keeper, residency, rules, vbuckets } = this;
    const onDirty = (vb: number): void => flusher?.noteDirty(vb, false);
    return new Applier({
      rules,
      vbuckets,
      keeper,
      residency,
      events,
      drift: drift.replica,
      reads: fetches,
      onDirty,
      onPersistenceAwaited: (vb) => flusher?.writeSoon(vb),
    });
  }

  /** Ends the waits of a vbucket's requests for durability and persistence, since another node serves it from now on. */
  depose(vb: number): void {
    this.durableWrites.depose(vb);
    this.progress.failWaitsOf(vb);
    // An active counts documents of dropped collections as absent before its sweep has removed them. A copy counts their deletions.
    this.residency.discardAbsent();
  }

  /** Ends the wait of all requests for durability, persistence and reads from disk. */
  failWaiters(): void {
    this.durableWrites.clear();
    this.progress.failWaits();
    this.fetches?.clear();
    this.residency.discardAbsent();
  }

  private makeChanges(): ChangeFeed {
    const { clock, storage } = this.options;
    const { durableWrites, events, progress, vbuckets } = this;
    const backfill = storage ? readerOf(storage) : null;
    return new ChangeFeed({ vbuckets, durableWrites, progress, events, clock, backfill });
  }

  /** Reported once for each file: further reads would find more damaged rows in it. */
  private noteDamagedRow({ bucketUuid }: BucketFiles, file: number): void {
    if (this.filesWithDamagedRows.has(file)) return;
    this.filesWithDamagedRows.add(file);
    this.options.log.error('bucket.damaged_row', { bucketUuid, file });
  }

  /** Memory is above the low watermark: values that no client requested stay on disk. */
  private readonly isFull = (): boolean => this.keeper.usedBytes > this.keeper.lowBytes;

  private tick(): void {
    const { clock, now } = this.options;
    now.set(clock.wallMs(), clock.monotonicMs());
  }
}
