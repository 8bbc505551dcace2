// One bucket of the desired state: starts, changes, flushes and removes its engine, and opens or closes it for the dispatcher.
import type { Clock, Timer } from '#ports/clock.ts';
import type { OpenPlace } from '#ports/file-place.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type {
  BucketReport,
  BucketSpec,
  CompactionRequest,
  ShardMap,
  ShardPosition,
  ShardSpec,
} from '../admin.ts';
import { Bucket } from '../bucket/bucket.ts';
import { shardPositions } from '../bucket/shard-positions.ts';
import { expiryPagerSecondsDefault } from '../bucket/upkeep/expiry-pager.ts';
import { type DiskEngine, type DiskSizes, noSizes } from '../data/disk-engine.ts';
import type { BucketReplication } from '../replication/bucket-replication.ts';
import type { Replication } from '../replication/replication.ts';
import { isUnclaimed } from '../replication/unclaimed.ts';
import type { WarmingBucket } from '../replication/warming-bucket.ts';
import { type EngineFigures, ServedBucket } from '../served/served-bucket.ts';
import { figuresOf } from '../vbucket/figures.ts';
import type { Now } from '../vbucket/now.ts';
import { rulesOf, storageOf } from './bucket-spec.ts';

export interface BucketHostOptions {
  clock: Clock;
  /** Counts work of the thread's turn. */
  countWork?: (workBytes: number) => void;
  random: Random;
  log: Log;
  now: Now;
  disk: DiskEngine;
  /** Parent of the bucket folders. */
  folder: string;
  /** Another number than usual, for tests. */
  vbucketCount?: number;
  /** The lock file of the data folder. */
  lock?: OpenPlace | undefined;
  /** Null while this node is the only one. */
  replication?: () => Replication | null;
  /** Runs this between two changes of the desired state. */
  inTurn?: (act: () => Promise<void>) => void;
}

/** Pause between checks whether a disk that was full takes changes again. */
const restartCheckMs = 500;

export class BucketHost {
  readonly served: ServedBucket;
  /** The present engine. */
  bucket: Bucket;
  private readonly options: BucketHostOptions;
  /** Resolves when the current start is finished. */
  started: Promise<void> = Promise.resolve();
  /** Applied at the next start too. */
  private expiryPagerSeconds = expiryPagerSecondsDefault;
  private readonly log: Log;
  private sizes: DiskSizes = noSizes;
  private failure: string | null = null;
  /** The incarnation of the present engine. */
  incarnation: number;
  /** What the present engine was made with. */
  private made: BucketSpec;
  /** Set while the engine cannot be replaced. */
  private restartCheck: Timer | null = null;
  /** The replication of the bucket in its present engine and incarnation; null without other nodes. */
  private bucketReplication: BucketReplication | null = null;
  /** Not null while the documents of files that were not closed cleanly are loaded. */
  private warming: WarmingBucket | null = null;
  /** What may have made promises for the bucket to other nodes before: an earlier process, or an earlier engine of this one. */
  private earlier: 'none' | 'process' | 'engine';

  constructor(spec: BucketSpec, options: BucketHostOptions) {
    this.served = new ServedBucket(spec);
    this.log = options.log;
    this.incarnation = spec.incarnation;
    this.options = options;
    this.made = spec;
    this.bucket = this.makeBucket(spec);
    // Files show that an earlier process had the bucket; of a bucket without files that is not known.
    this.earlier = spec.type === 'native' && spec.filesExisted === false ? 'none' : 'process';
    this.served.warmUp = () => this.bucket.warmUpReport;
  }

  /** Loads the documents and serves them once they are readable. Resolves then, or if the start fails. */
  start(): Promise<void> {
    this.started = this.load();
    return this.started;
  }

  /** A failure is logged and in the report. */
  private async load(): Promise<void> {
    const { bucket, served } = this;
    try {
      await bucket.start();
      if (bucket !== this.bucket) return;
      for (const damage of bucket.damaged)
        this.log.error('bucket.damaged', { bucket: served.name, ...damage });
      if (bucket.state === 'ready') this.open();
      await this.beginReplication();
    } catch (error) {
      this.fail('bucket.start_failed', error);
      if (bucket.state === 'warmup') bucket.state = 'failed';
      if (bucket === this.bucket) this.sayFailed();
    }
  }

  /** Applies a changed spec; returns whether the cluster configuration changed. */
  async follow(spec: BucketSpec): Promise<boolean> {
    const { bucket, served } = this;
    const hasNewManifest = spec.manifest.uid !== served.spec.manifest.uid;
    const hasNewPolicy = served.spec.evictionPolicy !== spec.evictionPolicy;
    const hasNewConfig = served.update(spec);
    if (isRestartNeeded(this.made, spec) && (await this.mayRestart()) && (await this.restart(spec)))
      return hasNewConfig;
    bucket.setRules(rulesOf(spec));
    if (hasNewPolicy && spec.type !== 'native') bucket.setEvictionPolicy(spec.evictionPolicy);
    if (hasNewManifest) bucket.applyManifest(spec.manifest);
    await this.followShards(spec);
    if (spec.incarnation !== this.incarnation) await this.followIncarnation(spec);
    return hasNewConfig;
  }

  expireEvery(seconds: number): void {
    this.expiryPagerSeconds = seconds;
    this.bucket.expireEvery(seconds);
  }

  compact(request: CompactionRequest): void {
    this.bucket.compaction.begin(request);
  }

  cancelCompaction(origin?: string): void {
    this.bucket.compaction.cancel(origin);
  }

  async stop(): Promise<void> {
    this.endRestartCheck();
    this.endReplication();
    await this.bucket.stop(this.options.replication?.()?.boot);
    this.served.close();
  }

  /** Removes the bucket and its files. */
  async destroy(): Promise<void> {
    this.endRestartCheck();
    this.endReplication();
    this.served.close();
    await this.bucket.destroy();
  }

  /** Applies a new map of the shards before the rest of the desired state. Without other nodes it does nothing. */
  followMap({ revision, shards }: ShardMap): void {
    if (this.bucket.state === 'ready') this.bucketReplication?.follow(shards, revision);
  }

  /** With other nodes replication decides what this one serves; alone it serves what the map says. */
  private async followShards({ mapRevision = 0, shards = [], type }: BucketSpec): Promise<void> {
    const replication = type === 'cache' ? null : (this.options.replication?.() ?? null);
    if (replication === null) {
      if (await this.bucket.followShards(shards)) this.served.statesChanged();
      return;
    }
    if (this.bucket.state !== 'ready') {
      this.warming?.follow(shards, mapRevision);
      this.sayFailed();
      return;
    }
    this.bucketReplication ??= this.replicate(replication);
    this.bucketReplication.follow(shards, mapRevision);
  }

  /**
   * Tells other nodes which stopped processes this one continues according to its files, though it cannot serve the bucket: members of the
   * in-sync sets may wait for what those had in memory. If no file could be opened it says nothing: a later process may continue them.
   */
  private sayFailed(): void {
    const { bucket, served } = this;
    if (bucket.state === 'failed' && bucket.hasOpenedFiles)
      this.options.replication?.()?.failed(served.uuid, bucket.stoppedBoots);
  }

  /** Called before the documents are loaded. A process that stopped cleanly is continued by this one, which then serves the same shards. */
  private filesOpened(stoppedBoots: readonly string[], wereUsed: boolean): void {
    if (wereUsed) this.holdUnconfirmed();
    if (stoppedBoots.length > 0) return;
    this.warming = this.options.replication?.()?.warm(this.served.uuid) ?? null;
    this.warming?.follow(this.served.spec.shards ?? [], this.served.spec.mapRevision ?? 0);
  }

  private async beginReplication(): Promise<void> {
    if (this.options.replication?.()) await this.followShards(this.served.spec);
  }

  private replicate(replication: Replication): BucketReplication {
    const { bucket, earlier, incarnation, served } = this;
    this.earlier = 'engine';
    this.warming = null;
    return replication.add({
      uuid: served.uuid,
      incarnation,
      bucket,
      changed: () => served.statesChanged(),
      earlier,
    });
  }

  private endReplication(): void {
    this.options.replication?.()?.remove(this.served.uuid);
    this.bucketReplication = null;
    this.warming = null;
  }

  positions(): (ShardPosition | null)[] {
    const { bucket, served } = this;
    return bucket.state === 'ready' ? shardPositions(bucket.columns, served.spec.shards?.length ?? 0) : [];
  }

  async measure(): Promise<void> {
    if (this.served.documents) this.sizes = await this.bucket.diskSizes().catch(() => this.sizes);
  }

  /** With the sizes that were measured last. */
  report(): BucketReport {
    const { bucket, served } = this;
    const { name, uuid } = served;
    const damaged = bucket.damaged.map(({ file, path, reason }) => ({ file, path, reason }));
    return {
      name,
      uuid,
      incarnation: this.incarnation,
      state: this.failure === null ? bucket.state : 'failed',
      damaged,
      writeFailure: this.failure ?? this.writeFailure,
      compaction: bucket.compaction.progress,
      warmUp: bucket.warmUpReport,
      ...served.report(),
      ...this.figures(),
      activity: served.activity(),
    };
  }

  private makeBucket(spec: BucketSpec): Bucket {
    const { clock, log, now, random, countWork, vbucketCount } = this.options;
    return new Bucket({
      type: spec.type,
      ...(vbucketCount !== undefined && { vbucketCount }),
      rules: rulesOf(spec),
      evictionPolicy: spec.evictionPolicy,
      priority: spec.threadsNumber === 8 ? 'high' : 'low',
      expiryPagerSeconds: this.expiryPagerSeconds,
      manifest: spec.manifest,
      shards: this.firstStates(spec),
      ...(spec.type === 'native' ? { storage: storageOf(spec, this.options) } : {}),
      filesOpened: (stoppedBoots, wereUsed) => this.filesOpened(stoppedBoots, wereUsed),
      now,
      clock,
      countWork,
      random,
      log,
    });
  }

  /** With other nodes, an active shard starts as pending until this process has confirmed its epoch, unless the bucket is new. */
  private firstStates({ shards, type, filesExisted = false }: BucketSpec): BucketSpec['shards'] {
    if (type === 'cache' || !this.options.replication?.()) return shards;
    const mustConfirm = (spec: ShardSpec): boolean =>
      spec.state === 'active' && (filesExisted || !isUnclaimed(spec));
    return shards?.map((spec) => (mustConfirm(spec) ? { ...spec, state: 'pending' } : spec));
  }

  /** The files show that the bucket is not new, which an older configuration does not say. */
  private holdUnconfirmed(): void {
    if (this.earlier !== 'none') return;
    this.earlier = 'process';
    void this.bucket.followShards(this.firstStates({ ...this.served.spec, filesExisted: true }) ?? []);
  }

  private get writeFailure(): string | null {
    const { writeFailure } = this.bucket;
    return writeFailure === null || this.restartCheck === null
      ? writeFailure
      : `${writeFailure}; the bucket keeps its eviction policy and number of threads until all of its changes can be written`;
  }

  /**
   * An engine is not replaced while its disk does not take its changes: the next one would lack them, while other nodes count on this process
   * having them. It is replaced once the disk takes them; if a file has failed, only a restart of the node replaces it.
   */
  private async mayRestart(): Promise<boolean> {
    const { bucket } = this;
    if (bucket.state !== 'ready') return true;
    if (bucket.writeFailure === null && (await bucket.writeAll())) return true;
    this.refuseRestart();
    return false;
  }

  private refuseRestart(): void {
    const { bucket, log, options, served } = this;
    if (this.restartCheck === null)
      log.error('bucket.restart_refused', { bucket: served.name, reason: bucket.writeFailure });
    this.restartCheck?.cancel();
    this.restartCheck = options.clock.after(restartCheckMs, () =>
      options.inTurn?.(() => this.restartIfDue()),
    );
  }

  private async restartIfDue(): Promise<void> {
    const { spec } = this.served;
    if (this.restartCheck === null) return;
    if (!isRestartNeeded(this.made, spec)) this.endRestartCheck();
    else if (await this.mayRestart()) await this.restart(spec);
  }

  private endRestartCheck(): void {
    this.restartCheck?.cancel();
    this.restartCheck = null;
  }

  /** Stops the bucket and starts it again with the new spec, as a restart of the node would. False: the disk filled meanwhile. */
  private async restart(spec: BucketSpec): Promise<boolean> {
    this.endReplication();
    this.served.close();
    if (this.bucket.state === 'ready' && !(await this.bucket.writeAll())) {
      this.open();
      await this.beginReplication();
      this.refuseRestart();
      return false;
    }
    this.endRestartCheck();
    this.made = spec;
    this.bucket.state = 'warmup';
    this.log.info('bucket.restarting', { bucket: spec.name });
    try {
      await this.bucket.stop(this.options.replication?.()?.boot);
    } catch (error) {
      this.fail('bucket.restart_failed', error);
      return true;
    }
    this.failure = null;
    this.incarnation = spec.incarnation;
    this.bucket = this.makeBucket(spec);
    void this.start();
    return true;
  }

  /** A node that started from an older configuration may have the files of the flushed bucket already: they are opened, not replaced. */
  private async followIncarnation(spec: BucketSpec): Promise<void> {
    if (this.bucket.damaged.some(({ isLater }) => isLater)) await this.restart(spec);
    else await this.flush(spec.incarnation);
  }

  private async flush(incarnation: number): Promise<void> {
    this.endReplication();
    this.served.close();
    try {
      await this.bucket.flush(incarnation);
      this.incarnation = incarnation;
      this.failure = null;
      if (this.bucket.state === 'ready') this.open();
      await this.beginReplication();
    } catch (error) {
      this.fail('bucket.flush_failed', error);
    }
  }

  private open(): void {
    const { bucket } = this;
    this.served.open({
      documents: bucket.documents,
      memory: bucket.memory,
      changes: this.served.spec.type === 'cache' ? null : bucket.changes,
      figures: () => this.figures(),
      activity: () => bucket.activity(),
      keys: bucket.keys,
      timings: bucket.timings,
      compaction: bucket.compaction,
      vbucketFigures: (vb) => figuresOf(bucket.columns, vb),
    });
  }

  private figures(): EngineFigures {
    const { tombstones: _, ...figures } = this.bucket.stats();
    const { dataBytes, fileBytes, freeBytes } = this.sizes;
    return { ...figures, dataBytes, diskBytes: fileBytes, freeDiskBytes: freeBytes };
  }

  private fail(event: string, error: unknown): void {
    this.failure = error instanceof Error ? error.message : String(error);
    this.log.error(event, { bucket: this.served.name, reason: this.failure });
  }
}

/** Buckets without a disk are not restarted: they would lose their documents, and both settings concern the disk. */
function isRestartNeeded(before: BucketSpec, after: BucketSpec): boolean {
  if (before.type !== 'native') return false;
  return before.evictionPolicy !== after.evictionPolicy || before.threadsNumber !== after.threadsNumber;
}
