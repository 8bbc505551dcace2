// One bucket's life cycle: start (warm-up), changes of its rules and collections, flush, stop. `documents` serves its documents;
// connections and their counters are elsewhere.
import { assert } from '#base/assert.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import type { EngineActivity } from '../activity.ts';
import type { BucketType, EvictionPolicy, Manifest, WarmUpReport } from '../admin.ts';
import { type BucketFiles, type DamagedFile, type DiskSizes, fileOf, noSizes } from '../data/disk-engine.ts';
import { Cutter } from '../vbucket/cutter.ts';
import { EventRecorder } from '../vbucket/event-recorder.ts';
import { Expirer } from '../vbucket/expirer.ts';
import { figuresOf, type VbucketFigures } from '../vbucket/figures.ts';
import { LiveCollections } from '../vbucket/live-collections.ts';
import type { Now } from '../vbucket/now.ts';
import { Residency } from '../vbucket/residency.ts';
import { Vbuckets } from '../vbucket/vbuckets.ts';
import { activityOf, type BucketStats, countsOf } from './bucket-stats.ts';
import { ChangeFeed } from './change-feed.ts';
import { MemoryDocuments } from './documents/memory-documents.ts';
import { DurableWrites } from './durability/durable-writes.ts';
import { Flusher } from './durability/flusher.ts';
import { Persistence } from './durability/persistence.ts';
import { BackgroundFetches } from './fetch/background-fetches.ts';
import { takeFetched } from './fetch/fetch-intake.ts';
import { BucketKeys } from './keys/bucket-keys.ts';
import { readerOf, type Storage } from './keys/read-rows.ts';
import { collectionSpecs, defaultManifest, manifestState, manifestUid } from './manifest.ts';
import { MemoryKeeper } from './quota/memory-keeper.ts';
import type { BucketRules } from './rules.ts';
import { Timings } from './timings.ts';
import { BackgroundWork } from './upkeep/background-work.ts';
import type { Compaction } from './upkeep/compaction.ts';
import { addFailoverEntry, WarmUp } from './warm-up.ts';

const vbucketCountDefault = 1024;

export interface BucketOptions {
  type: BucketType;
  rules: BucketRules;
  /** Without it `valueOnly` where there is a disk, else `noEviction`. */
  evictionPolicy?: EvictionPolicy;
  /** Priority of the bucket's commits on a disk shared by buckets. */
  priority?: 'low' | 'high';
  expiryPagerSeconds?: number;
  /** The collections at start; without it only the default collection. */
  manifest?: Manifest;
  /** Native buckets only. */
  storage?: Storage;
  vbucketCount?: number;
  /** Shared by all buckets of a thread; the host sets it before it passes input on. */
  now: Now;
  clock: Clock;
  random: Random;
  log: Log;
}

export class Bucket {
  readonly documents: MemoryDocuments;
  readonly changes: ChangeFeed;
  readonly rules: BucketRules;
  readonly timings = new Timings();
  readonly keys: BucketKeys;
  state: 'warmup' | 'ready' | 'failed' = 'warmup';
  damaged: DamagedFile[] = [];
  /** Why the bucket refuses writes; null when it accepts them. */
  writeFailure: string | null = null;
  private failedCommits = 0;
  private readonly filesWithDamagedRows = new Set<number>();
  private readonly options: BucketOptions;
  private readonly vbuckets: Vbuckets;
  private readonly collections = new LiveCollections();
  private readonly cutter: Cutter;
  private readonly events: EventRecorder;
  private readonly durableWrites: DurableWrites;
  private readonly persistence: Persistence;
  private readonly flusher: Flusher | null;
  private readonly residency: Residency;
  private readonly keeper: MemoryKeeper;
  private readonly expirer: Expirer;
  private readonly fetches: BackgroundFetches | null;
  private readonly warmUp: WarmUp | null;
  private readonly background: BackgroundWork;
  private files: BucketFiles | null;
  private isOpen = false;
  private isServing = false;
  /** Recovery from an unclean stop is written to the files: they may be closed as clean. */
  private isRecovered = false;
  private isDiskLost = false;
  private readable: number[] = [];
  private manifest: Manifest = defaultManifest;
  private starting: Promise<void> = Promise.resolve();

  constructor(options: BucketOptions) {
    const { clock, now, random, storage, type } = options;
    assert((storage !== undefined) === (type === 'native'), 'native buckets have a disk, others none');
    this.options = options;
    this.rules = { ...options.rules };
    this.files = storage?.files ?? null;
    this.vbuckets = new Vbuckets({
      count: options.vbucketCount ?? vbucketCountDefault,
      now,
      collections: this.collections,
      hashSeed: random.bytes(4).readInt32LE(),
      persistent: type === 'native',
    });
    this.cutter = new Cutter(this.vbuckets);
    this.events = new EventRecorder({
      vbuckets: this.vbuckets,
      persistent: type === 'native',
      onDirty: (row) => this.flusher?.noteDirty(row, false),
    });
    this.persistence = new Persistence(this.vbuckets.rows, clock);
    this.durableWrites = new DurableWrites({
      vbuckets: this.vbuckets,
      clock,
      resolved: (token, status) => this.documents.onResolved(token, status),
    });
    this.flusher = storage ? this.makeFlusher(storage) : null;
    const policy = options.evictionPolicy ?? (storage ? 'valueOnly' : 'noEviction');
    this.residency = new Residency(this.vbuckets, policy);
    this.changes = this.makeChanges();
    this.keeper = this.makeKeeper(policy);
    this.expirer = new Expirer(this.vbuckets, (row) => this.flusher?.noteDirty(row, false));
    this.fetches = storage ? this.makeFetches(storage) : null;
    this.warmUp = storage ? this.makeWarmUp(storage) : null;
    this.documents = this.makeDocuments();
    // Durable writes become visible before streams read them.
    this.persistence.notify(this.keeper, this.events, this.durableWrites, this.changes);
    this.background = this.makeBackground(policy);
    this.keys = this.makeKeys();
    this.adoptManifest(options.manifest ?? defaultManifest);
  }

  /** Loads the stored keys and begins to serve. Returns early, without serving, when the bucket is stopped. */
  start(): Promise<void> {
    const started = this.begin();
    this.starting = started.catch(() => {});
    return started;
  }

  get compaction(): Compaction {
    return this.background.compaction;
  }

  /** Progress of the warm-up; null without a disk. */
  get warmUpReport(): WarmUpReport | null {
    return this.warmUp?.report() ?? null;
  }

  /** Writes everything and closes the files; the bucket answers no calls afterwards. */
  async stop(): Promise<void> {
    await this.halt();
    await this.flusher?.drain();
    this.failWaiters();
    if (this.files && this.isOpen)
      await this.options.storage?.disk.close(this.files.bucketUuid, this.isRecovered);
  }

  /** Stops without writing, and deletes the files. */
  async destroy(): Promise<void> {
    await this.halt();
    this.failWaiters();
    this.vbuckets.clear();
    if (this.files) await this.options.storage?.disk.destroy(this.files);
  }

  /** Removes every document, in memory and on disk. */
  async flush(incarnation: number): Promise<void> {
    await this.halt();
    this.failWaiters();
    this.vbuckets.clear();
    this.events.clear();
    this.collections.clearCounts();
    await this.resetFiles(incarnation);
    this.readable = this.allRows();
    for (const row of this.readable) addFailoverEntry(this.vbuckets, row, this.options.random);
    this.serve();
  }

  /** Changes rules from the next operation on. */
  setRules(rules: Partial<BucketRules>): void {
    Object.assign(this.rules, rules);
    this.keeper.relievePressure();
  }

  /** Changes the policy of a bucket without a disk; any other bucket must be restarted for it. */
  setEvictionPolicy(policy: EvictionPolicy): void {
    assert(this.options.type !== 'native', 'the policy of a bucket on disk is fixed');
    this.keeper.follow(policy);
  }

  /** Sets the interval of the expiry pager. */
  expireEvery(seconds: number): void {
    this.background.expireEvery(seconds);
  }

  /** Changes the collections; documents of dropped ones are freed in the background. */
  applyManifest(manifest: Manifest): void {
    const gone = this.adoptManifest(manifest);
    if (this.isServing) this.recordManifest();
    // During warm-up, documents of dropped collections are freed once all keys are loaded.
    if (this.state === 'warmup') for (const id of gone) this.warmUp?.gone.add(id);
    else this.background.free(gone);
  }

  stats(): BucketStats {
    return {
      ...countsOf(this.vbuckets.rows, this.collections, this.expectedItems),
      memUsed: this.documents.memUsed,
      nonResident: this.residency.nonResident,
      diskFetches: this.fetches?.fetched ?? 0,
      evictions: this.keeper.evictions,
      expired: this.expirer.expired,
    };
  }

  activity(): EngineActivity {
    const { memoryRefusals, memUsed } = this.documents;
    const { failedCommits } = this;
    const queued = this.flusher?.queued ?? 0;
    return activityOf(this.vbuckets, { queued, memoryRefusals, failedCommits, memUsed }, this.timings);
  }

  vbucketFigures(vb: number): VbucketFigures {
    return figuresOf(this.vbuckets.rows, vb);
  }

  private get expectedItems(): number {
    return this.state === 'warmup' ? (this.warmUp?.expectedItems ?? 0) : 0;
  }

  async diskSizes(): Promise<DiskSizes> {
    if (!this.files || !this.options.storage || !this.isOpen) return noSizes;
    return await this.options.storage.disk.sizes(this.files.bucketUuid);
  }

  private async begin(): Promise<void> {
    const { warmUp } = this;
    try {
      if (warmUp) await this.readFiles(warmUp);
      else
        for (const row of (this.readable = this.allRows()))
          addFailoverEntry(this.vbuckets, row, this.options.random);
    } catch (error) {
      if (!warmUp?.isStopped) throw error;
    }
    if (warmUp?.isStopped) return;
    this.serve();
    warmUp?.readValues();
  }

  /** Ends all work except commits and reads under way, for which it waits. */
  private async halt(): Promise<void> {
    this.refuseAll();
    await this.warmUp?.stop();
    await this.starting;
    await this.compaction.stop();
    await this.flusher?.pause();
  }

  private serve(): void {
    this.recordManifest();
    for (const row of this.readable) this.vbuckets.rows.refusal[row] = Status.success;
    this.flusher?.resume();
    this.keeper.start();
    this.background.start();
    this.state = this.readable.length === 0 ? 'failed' : 'ready';
    this.isServing = this.state === 'ready';
  }

  private allRows(): number[] {
    return Array.from({ length: this.vbuckets.rows.count }, (_, row) => row);
  }

  /** Replaces the files by new ones, which also repairs damage. */
  private async resetFiles(incarnation: number): Promise<void> {
    if (!this.files) return;
    await this.options.storage?.disk.reset(this.files.bucketUuid, incarnation);
    this.files = { ...this.files, incarnation };
    this.isRecovered = true;
    this.flusher?.forgetFailures();
    this.damaged = [];
    this.isDiskLost = false;
    this.writeFailure = null;
    this.documents.writeRefusal = Status.success;
  }

  private async readFiles(warmUp: WarmUp): Promise<void> {
    const found = await warmUp.open();
    this.isOpen = true;
    this.isRecovered = found.opened.every(({ clean }) => clean);
    const { changed, damaged, readable } = await warmUp.readKeys(found);
    this.damaged = damaged;
    this.readable = readable;
    await this.flusher?.writeStates(changed);
    this.isRecovered = true;
    this.background.free([...warmUp.gone]);
  }

  private makeWarmUp({ disk, files }: Storage): WarmUp {
    const { clock, log, random } = this.options;
    const { collections, events, keeper, residency, vbuckets } = this;
    const isFull = (): boolean => keeper.usedBytes > keeper.lowBytes;
    const memory = { vbuckets, collections, residency, events, isFull };
    return new WarmUp({ ...memory, disk, files, random, clock, log });
  }

  private makeFlusher(storage: Storage): Flusher {
    const { rows } = this.vbuckets;
    return new Flusher({
      disk: storage.disk,
      bucketUuid: storage.files.bucketUuid,
      fileCount: storage.files.fileCount,
      rows,
      cutter: this.cutter,
      clock: this.options.clock,
      log: this.options.log,
      timings: this.timings,
      priority: this.options.priority ?? 'low',
      roomBytes: () => this.keeper.lowBytes - this.keeper.usedBytes,
      persistence: this.persistence,
      onFailure: (file, reason) => this.loseDisk(`file ${file}: ${reason}`),
      onFull: (reason) => this.noteFull(reason),
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
    const { collections, documents, expirer, vbuckets } = this;
    return new BackgroundWork({
      ...{ vbuckets, collections, documents, expirer, policy, storage, expiryPagerSeconds, clock, log },
      tick: () => this.tick(),
      isPersistent: () => this.flusher !== null && !this.isDiskLost,
      isServed: () => this.isServing,
      onDirty: (row) => this.flusher?.noteDirty(row, false),
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
      take: (request, item) => takeFetched(intake, request, item),
      noteAbsent: (row, key) => residency.noteAbsent(row, key),
      noteDamaged: (row) => this.noteDamagedRow(files, fileOf(row, files.fileCount)),
    });
  }

  /** Reported once a file: further reads would find more damaged rows in it. */
  private noteDamagedRow({ bucketUuid }: BucketFiles, file: number): void {
    if (this.filesWithDamagedRows.has(file)) return;
    this.filesWithDamagedRows.add(file);
    this.options.log.error('bucket.damaged_row', { bucketUuid, file });
  }

  private tick(): void {
    const { clock, now } = this.options;
    now.set(clock.wallMs(), clock.monotonicMs());
  }

  private makeDocuments(): MemoryDocuments {
    const { flusher } = this;
    return new MemoryDocuments({
      residency: this.residency,
      keeper: this.keeper,
      expirer: this.expirer,
      reads: this.fetches,
      type: this.options.type,
      rules: this.rules,
      vbuckets: this.vbuckets,
      collections: this.collections,
      durableWrites: this.durableWrites,
      persistence: this.persistence,
      onDirty: (row, isUrgent) => flusher?.noteDirty(row, isUrgent),
      onWatched: (row) => flusher?.writeSoon(row),
    });
  }

  private makeChanges(): ChangeFeed {
    const { clock, storage } = this.options;
    const { durableWrites, persistence, vbuckets } = this;
    const backfill = storage ? readerOf(storage) : null;
    return new ChangeFeed({ vbuckets, durableWrites, persistence, clock, backfill });
  }

  /** Refuses writes with a temporary failure until there is space; acknowledged changes stay in memory. */
  private noteFull(reason: string | null): void {
    if (this.isDiskLost) return;
    if (reason !== null) this.failedCommits++;
    this.writeFailure = reason === null ? null : `there is no space on disk: ${reason}`;
    this.documents.writeRefusal = reason === null ? Status.success : Status.temporaryFailure;
  }

  /** Refuses writes: acknowledged changes stay readable, but nothing more is persisted. */
  private loseDisk(reason: string): void {
    if (!this.isDiskLost) this.writeFailure = reason;
    this.failedCommits++;
    this.isDiskLost = true;
    this.documents.writeRefusal = Status.temporaryFailure;
    this.durableWrites.resolveAmbiguous();
    this.persistence.failWaits();
  }

  /** Records the manifest's changes as system events. Caches keep no history. */
  private recordManifest(): void {
    if (this.options.type !== 'cache') this.events.record(this.readable, manifestState(this.manifest));
  }

  private adoptManifest(manifest: Manifest): number[] {
    this.manifest = manifest;
    this.cutter.manifestUid = manifestUid(manifest);
    return this.collections.apply(collectionSpecs(manifest));
  }

  private refuseAll(): void {
    this.isServing = false;
    this.keeper.stop();
    this.background.pause();
    this.vbuckets.rows.refusal.fill(Status.temporaryFailure);
  }

  private failWaiters(): void {
    this.durableWrites.clear();
    this.persistence.failWaits();
    this.fetches?.clear();
    this.residency.forgetAbsent();
  }
}
