// One bucket's life cycle: start (warm-up), changes of its rules and collections, flush, stop. Its parts and their wiring are in bucket-parts.ts.
import { assert } from '#base/assert.ts';
import { nextTurn } from '#ports/clock.ts';
import type { EngineActivity } from '../activity.ts';
import type { EvictionPolicy, Manifest, ShardSpec, WarmUpReport } from '../admin.ts';
import { type BucketFiles, type DamagedFile, type DiskSizes, noSizes } from '../data/disk-engine.ts';
import type { VbucketColumns } from '../vbucket/columns.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import { type BucketOptions, BucketParts } from './bucket-parts.ts';
import { activityOf, type BucketStats, countsOf } from './bucket-stats.ts';
import type { ChangeFeed } from './change-feed.ts';
import { DiskCondition } from './disk-condition.ts';
import type { Applier } from './documents/applier.ts';
import type { MemoryDocuments } from './documents/memory-documents.ts';
import { dropVbuckets } from './drop-vbuckets.ts';
import type { DelayedDiskWork } from './durability/flusher-options.ts';
import type { VbucketProgress } from './durability/progress.ts';
import type { BucketKeys } from './keys/bucket-keys.ts';
import { collectionSpecs, defaultManifest, manifestState, manifestUid } from './manifest.ts';
import type { VbucketRollbacks } from './rollback/vbucket-rollbacks.ts';
import type { BucketRules } from './rules.ts';
import { ShardStates } from './shard-states.ts';
import type { Timings } from './timings.ts';
import type { Compaction } from './upkeep/compaction.ts';
import {
  addFailoverEntry,
  closedBy,
  stoppedBootsOf,
  type WarmUp,
  type WarmUpResult,
  wereUsed,
} from './warm-up.ts';
import { writeAll } from './write-all.ts';

export class Bucket {
  readonly documents: MemoryDocuments;
  readonly changes: ChangeFeed;
  readonly rules: BucketRules;
  readonly timings: Timings;
  readonly keys: BucketKeys;
  /** Applies changes to vbuckets that are active on other nodes. */
  readonly applier: Applier;
  readonly progress: VbucketProgress;
  readonly rollbacks: VbucketRollbacks;
  state: 'warmup' | 'ready' | 'failed' = 'warmup';
  damaged: DamagedFile[] = [];
  stoppedBoots: WarmUpResult['stoppedBoots'] = [];
  private readonly disk: DiskCondition;
  private readonly options: BucketOptions;
  private readonly parts: BucketParts;
  readonly shards: ShardStates;
  private files: BucketFiles | null;
  private isOpen = false;
  /** Whether files were opened, which removes their marks of a clean stop: no later process can continue that stop. */
  hasOpenedFiles = false;
  private isServing = false;
  /** Whether the files may be closed as clean: what the recovery from an unclean stop changed is written to them. */
  private isRecovered = false;
  /** Vbuckets whose file could be read. */
  private readable: number[] = [];
  private manifest: Manifest = defaultManifest;
  private starting: Promise<void> = Promise.resolve();
  /** Work that writes to the files: they are closed or replaced after it. */
  private readonly fileWork = new Set<Promise<unknown>>();

  constructor(options: BucketOptions) {
    const { storage, type } = options;
    assert((storage !== undefined) === (type === 'native'), 'the type of a bucket and its storage disagree');
    this.options = options;
    this.files = storage?.files ?? null;
    this.parts = new BucketParts(options, {
      isServed: () => this.isServing,
      isPersistent: () => storage !== undefined && !this.disk.hasFailed,
      onDiskFailure: (reason) => this.disk.fail(reason),
      onDiskFull: (reason) => this.disk.noteFull(reason),
    });
    this.disk = new DiskCondition(this.parts);
    this.shards = this.makeShards();
    this.documents = this.parts.documents;
    this.changes = this.parts.changes;
    this.keys = this.parts.keys;
    this.applier = this.parts.applier;
    this.progress = this.parts.progress;
    this.rollbacks = this.parts.rollbacks;
    this.rules = this.parts.rules;
    this.timings = this.parts.timings;
    this.adoptManifest(options.manifest ?? defaultManifest);
  }

  /** Loads the stored keys and begins to serve. Returns early, without serving, when the bucket is stopped. */
  start(): Promise<void> {
    const started = this.begin();
    this.starting = started.catch(() => {});
    return started;
  }

  /** Why the bucket refuses writes; null when it accepts them. */
  get writeFailure(): string | null {
    return this.disk.failure;
  }

  get compaction(): Compaction {
    return this.parts.background.compaction;
  }

  /** Progress of the warm-up; null without a disk. */
  get warmUpReport(): WarmUpReport | null {
    return this.parts.warmUp?.report() ?? null;
  }

  /** Writes everything and closes the files, in which it notes the boot id; the bucket answers no calls afterwards. */
  async stop(boot?: string): Promise<void> {
    await this.halt();
    await this.parts.flusher?.drain();
    this.parts.failWaiters();
    if (!this.files || !this.isOpen) return;
    const by = closedBy(boot, this.stoppedBoots);
    await this.options.storage?.disk.close(this.files.bucketUuid, this.isRecovered, by);
  }

  /** Stops without writing, and deletes the files. */
  async destroy(): Promise<void> {
    await this.halt();
    this.parts.failWaiters();
    this.parts.vbuckets.clear();
    this.parts.flusher?.discardFailures();
    if (this.files) await this.options.storage?.disk.destroy(this.files);
  }

  /** Removes every document, in memory and on disk. */
  async flush(incarnation: number): Promise<void> {
    // Clients of other buckets are served between steps over all vbuckets, each of which takes milliseconds.
    const { clock } = this.options;
    await this.halt();
    this.parts.failWaiters();
    await nextTurn(clock);
    this.parts.vbuckets.clear();
    this.parts.events.clear();
    this.parts.collections.clearCounts();
    await this.resetFiles(incarnation);
    await nextTurn(clock);
    this.readable = this.allVbuckets();
    this.beginHistories();
    await nextTurn(clock);
    this.serve();
  }

  /** Brings the shards to these states at once; resolves with whether one changed, when those that became active are served. */
  followShards(shards: readonly ShardSpec[]): Promise<boolean> {
    return this.trackFileWork(this.shards.follow(shards));
  }

  /** Until when vbuckets that become active are served; set where other nodes have copies of them. */
  servedUntilMs: (vb: number) => number = () => Infinity;

  serveUntil(vbs: readonly number[], untilMs: number): void {
    this.shards.serve(vbs, untilMs);
  }

  /** Active vbuckets make no seqnos while this node hands them over. Events that they missed are recorded afterwards where they stay active. */
  handOver(vbs: readonly number[], isUnderWay: boolean, staysActive = true): void {
    for (const vb of vbs) this.columns.isHandingOver[vb] = isUnderWay ? 1 : 0;
    if (!isUnderWay && staysActive && this.isServing) this.recordMissedEvents(vbs);
  }

  /** Whether no durable write of these vbuckets waits for its level. */
  isResolved(vbs: readonly number[]): boolean {
    return vbs.every((vb) => this.parts.durableWrites.firstUnresolved(vb) === Infinity);
  }

  /**
   * Removes vbuckets that are copies, or that this node has no longer, from memory and from disk.
   * @throws Error when the files cannot be written: call it again.
   */
  async drop(vbs: readonly number[]): Promise<void> {
    const { files, options, parts } = this;
    const isServing = (): boolean => this.isServing;
    await this.trackFileWork(dropVbuckets(vbs, { parts, files, disk: options.storage?.disk, isServing }));
    // Written again, since the removal also drops the states, which have the epochs that this node has promised to keep.
    if ((await this.writeStates(vbs)).length < vbs.length) throw new Error('the disk takes no changes');
  }

  get isOnDisk(): boolean {
    return this.files !== null;
  }

  get memory(): Vbuckets {
    return this.parts.vbuckets;
  }

  get columns(): VbucketColumns {
    return this.parts.vbuckets.columns;
  }

  /** A vbucket's failover log, in its stored form. */
  history(vb: number): Uint8Array {
    return this.parts.vbuckets.failovers.encode(vb);
  }

  /** Changes rules from the next operation on. */
  setRules(rules: Partial<BucketRules>): void {
    Object.assign(this.rules, rules);
    this.parts.keeper.relievePressure();
    this.parts.background.compression.applyMode();
  }

  /** Changes the policy of a bucket without a disk; any other bucket must be restarted for it. */
  setEvictionPolicy(policy: EvictionPolicy): void {
    assert(this.options.type !== 'native', 'the eviction policy of a bucket with a disk cannot change');
    this.parts.keeper.follow(policy);
  }

  /** Sets the interval of the expiry pager. */
  expireEvery(seconds: number): void {
    this.parts.background.expireEvery(seconds);
  }

  /** Changes the collections; documents of dropped ones are freed in the background. */
  applyManifest(manifest: Manifest): void {
    const removed = this.adoptManifest(manifest);
    if (this.isServing) this.recordManifest();
    // During warm-up, documents of dropped collections are freed once all keys are loaded.
    if (this.state === 'warmup') for (const id of removed) this.parts.warmUp?.gone.add(id);
    else this.freeLater(removed);
  }

  stats(): BucketStats {
    const expectedItems = this.state === 'warmup' ? (this.parts.warmUp?.expectedItems ?? 0) : 0;
    return {
      ...countsOf(this.parts.vbuckets.columns, this.parts.collections, expectedItems),
      memUsed: this.documents.memUsed,
      nonResident: this.parts.residency.nonResident,
      diskFetches: this.parts.fetches?.fetched ?? 0,
      evictions: this.parts.keeper.evictions,
      expired: this.parts.expirer.expired,
    };
  }

  activity(): EngineActivity {
    return activityOf(this.parts, this.disk.failedCommits);
  }

  private makeShards(): ShardStates {
    const { changes, vbuckets } = this.parts;
    return new ShardStates({
      vbuckets,
      random: this.options.random,
      shards: this.options.shards,
      activated: (vbs) => this.recordMissedEvents(vbs),
      writeStates: (vbs, withChanges) => this.writeStates(vbs, withChanges),
      deposed: (vb) => this.parts.depose(vb),
      changed: (vb) => changes.stateChanged(vb),
      servedUntilMs: (vb) => this.servedUntilMs(vb),
    });
  }

  /** For the vbuckets that are active now: records the events that they missed, and frees their documents of dropped collections. */
  private recordMissedEvents(vbs: readonly number[]): void {
    const active = this.shards.active(vbs).filter((vb) => this.readable.includes(vb));
    if (active.length === 0) return;
    this.recordManifest(active);
    this.parts.events.whenRecorded(() => this.parts.background.sweepAgain(active));
  }

  /** Writes all changes and states; resolves with false if the disk did not take all of them. */
  writeAll(): Promise<boolean> {
    return this.trackFileWork(writeAll(this, this.parts.flusher, this.allVbuckets()));
  }

  /** Writes states and epochs, `withChanges` also all changes, after rollbacks and removals. Resolves with the vbuckets on disk; all without a disk. */
  async writeStates(vbs: readonly number[], withChanges = true): Promise<readonly number[]> {
    const { flusher, removals } = this.parts;
    const change = (): Promise<unknown> | null => this.rollbacks.ended ?? removals.endOf(vbs);
    while (change() !== null) await change();
    return flusher ? await this.trackFileWork(flusher.writeStatesNow(vbs, withChanges)) : vbs;
  }

  /** Delays this work of the disk, for half a second at most, because requests wait for the disk or soon will. */
  readonly delayDiskWork = (delayed: DelayedDiskWork): void => this.parts.flusher?.delay(delayed);

  async diskSizes(): Promise<DiskSizes> {
    if (!this.files || !this.options.storage || !this.isOpen) return noSizes;
    return await this.options.storage.disk.sizes(this.files.bucketUuid);
  }

  private async begin(): Promise<void> {
    const { warmUp } = this.parts;
    try {
      if (warmUp) await this.readFiles(warmUp);
      else {
        this.readable = this.allVbuckets();
        this.beginHistories();
      }
    } catch (error) {
      if (!warmUp?.isStopped) throw error;
    }
    if (warmUp?.isStopped) return;
    this.serve();
    this.freeLater([...(warmUp?.gone ?? [])]);
    warmUp?.readValues();
  }

  /** Begins a history of each active vbucket; a copy gets its history from the active. */
  private beginHistories(): void {
    const { vbuckets } = this.parts;
    for (const vb of this.shards.active(this.readable)) addFailoverEntry(vbuckets, vb, this.options.random);
  }

  private trackFileWork<T>(work: Promise<T>): Promise<T> {
    const ended: Promise<unknown> = work.catch(() => {}).then(() => this.fileWork.delete(ended));
    this.fileWork.add(ended);
    return work;
  }

  /** Ends all work except commits, removals and reads under way, for which it waits. */
  private async halt(): Promise<void> {
    this.refuseAll();
    const stopped = this.parts.warmUp?.stop();
    const { fileWork, rollbacks } = this;
    // Work that ends may begin other work: a removal writes states at its end.
    while (fileWork.size > 0 || rollbacks.ended !== null) await Promise.all([...fileWork, rollbacks.ended]);
    await Promise.all([stopped, this.starting]);
    await this.compaction.stop();
    await this.parts.flusher?.pause();
  }

  private serve(): void {
    this.recordManifest();
    this.shards.open(this.readable);
    this.parts.flusher?.resume();
    this.parts.keeper.start();
    this.parts.background.start();
    this.state = this.readable.length === 0 ? 'failed' : 'ready';
    this.isServing = this.state === 'ready';
  }

  private allVbuckets(): number[] {
    return Array.from({ length: this.parts.vbuckets.columns.count }, (_, vb) => vb);
  }

  /** Replaces the files by new ones, which also repairs damage. */
  private async resetFiles(incarnation: number): Promise<void> {
    if (!this.files) return;
    await this.options.storage?.disk.reset(this.files.bucketUuid, incarnation);
    this.files = { ...this.files, incarnation };
    // Set again: if the disk had no space, the earlier files were never opened.
    this.isOpen = true;
    this.isRecovered = true;
    this.parts.flusher?.discardFailures();
    this.damaged = [];
    this.disk.renew();
  }

  private async readFiles(warmUp: WarmUp): Promise<void> {
    const found = await warmUp.open();
    this.isOpen = true;
    this.hasOpenedFiles = found.opened.length > 0;
    this.isRecovered = found.opened.every(({ clean }) => clean);
    this.stoppedBoots = stoppedBootsOf(found);
    if (this.hasOpenedFiles && !warmUp.isStopped)
      this.options.filesOpened?.(this.stoppedBoots, wereUsed(found));
    const { changed, damaged, readable, stoppedBoots } = await warmUp.readKeys(found);
    Object.assign(this, { damaged, readable, stoppedBoots });
    await this.parts.flusher?.writeStates(changed);
    this.isRecovered = true;
  }

  /** Records the manifest's changes as system events of active vbuckets. Caches keep no history. */
  private recordManifest(vbs = this.shards.active(this.readable)): void {
    if (this.options.type !== 'cache') this.parts.events.record(vbs, manifestState(this.manifest));
  }

  /** Frees the documents of dropped collections. */
  private freeLater(removed: readonly number[]): void {
    this.parts.events.whenRecorded(() => this.parts.background.free(removed));
  }

  private adoptManifest(manifest: Manifest): number[] {
    this.manifest = manifest;
    this.parts.cutter.manifestUid = this.parts.events.manifestUid = manifestUid(manifest);
    return this.parts.collections.apply(collectionSpecs(manifest));
  }

  private refuseAll(): void {
    this.isServing = false;
    this.parts.keeper.stop();
    this.parts.background.pause();
    this.parts.events.stop();
    this.shards.close();
  }
}
