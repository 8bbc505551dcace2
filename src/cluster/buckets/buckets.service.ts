// Creates, edits, flushes and deletes buckets. Writes the desired state; the agent on each node applies it.
import { UnwritableError } from '#base/unwritable-error.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import type { Form } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import { hexId, type Random } from '#ports/random.ts';
import { clusterCompaction, purgeBeforeSeconds } from '../auto-compaction/settings.ts';
import { applyWaitMs } from '../config/apply-wait.ts';
import type { BucketsState, Edition, StoredBucket, Vocabulary } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import { areCopiesInSync } from '../config/in-sync.ts';
import { withReplicaNumber } from '../config/placed-copies.ts';
import { until } from '../config/until.ts';
import { bucketCountMax } from '../internal-settings/internal-settings.ts';
import type { NodeFigures } from '../nodes/node-figures.ts';
import { bucketRefusals } from '../refusals/buckets.refusals.ts';
import { plannedNode } from '../server-groups/groups.ts';
import type { BucketMaps } from './bucket-maps.ts';
import {
  type ReadBucket,
  type RuleContext,
  readChangedBucket,
  readNewBucket,
} from './bucket-rules/read-bucket.ts';
import { bucketSummaries } from './bucket-summaries.ts';
import { BucketUse, type DiskUse } from './bucket-use.ts';
import { type BucketsStore, withBucket } from './buckets.store.ts';

/** How long a delete or flush waits for the data service, as published. */
const removalTimeoutMs = 30_000;
const flushTimeoutMs = 30_000;
const mib = 1024 * 1024;
/** A bucket with less than this on disk is not flushed while the disk is full: its new, empty files need about as much. */
const flushFreesBytes = 4 * mib;

export interface BucketsDeps {
  view: ClusterView;
  store: BucketsStore;
  maps: BucketMaps;
  data: DataService;
  /** What the other nodes have reported. */
  nodeFigures: Pick<NodeFigures, 'known'>;
  /** The file system of this node. */
  disk: () => Promise<DiskUse>;
  random: Random;
  clock: Clock;
  edition: Edition;
  /** Vocabulary of buckets created without an explicit type. */
  wireNames: Vocabulary;
  /** Whether documents of the bucket are replicated to another cluster. */
  isReplicated: (name: string) => boolean;
}

/** The result of a validation. */
export interface Validation {
  fields: Record<string, string>;
  summaries: unknown;
}

export class BucketsService {
  readonly #deps: BucketsDeps;
  readonly #use: BucketUse;

  constructor(deps: BucketsDeps) {
    this.#deps = deps;
    this.#use = new BucketUse(deps);
  }

  list(): readonly StoredBucket[] {
    return this.#deps.view.liveBuckets();
  }

  find(name: string): StoredBucket {
    const bucket = this.#deps.view.liveBucket(name);
    if (!bucket) throw generalRefusals.notFound();
    return bucket;
  }

  async create(form: Form, ignoreWarnings: boolean): Promise<StoredBucket> {
    const { maps, store, random, data, view } = this.#deps;
    const disk = await this.#use.disks();
    const uuid = hexId(random);
    const { problems, choices } = readNewBucket(form, this.#ruleContext(view.buckets, null));
    // No map is written for a bucket that will be refused.
    if (!problems.any && this.#isRebalancing) throw bucketRefusals.createDuringRebalance();
    const hasMap = !problems.any && choices.type !== 'cache';
    const { endedPlan } = view.buckets;
    const nodes = view.dataNodes.map((node) => plannedNode(view.cluster, node));
    if (hasMap) await maps.create(uuid, nodes, choices.replicaNumber);
    const created = store.change((state) => {
      // The map may name a node that left by a rebalance which began after the check above, and has ended.
      if (hasMap && state.endedPlan !== endedPlan) throw bucketRefusals.createDuringRebalance();
      const read = readNewBucket(form, this.#ruleContext(state, null));
      const tooMany = tooManyBuckets(state, this.#bucketCountMax);
      if (tooMany || read.problems.any) {
        const fields = tooMany ?? withWarnings(read, ignoreWarnings);
        throw bucketRefusals.invalid(fields, this.#summaries(read, null, state, disk));
      }
      const inDeletion = nameInDeletion(read.choices.name, state);
      if (inDeletion)
        throw bucketRefusals.nameInDeletion(inDeletion, this.#summaries(read, null, state, disk));
      return withBucket(state, { ...read.choices, uuid, incarnation: 0, state: 'ready' });
    });
    const { value, revision } = await created.catch(async (error: unknown) => {
      // The map stays if the store may have stored the bucket, which could not be used without one. A map without a bucket does no harm.
      const maybeStored = error instanceof UnwritableError && !error.isUnchanged;
      if (hasMap && !maybeStored) await maps.remove(uuid).catch(() => {});
      throw error;
    });
    if (await data.applied(revision, applyWaitMs)) await this.#untilCopied(uuid);
    return value.byUuid[uuid] as StoredBucket;
  }

  async validateNew(form: Form, ignoreWarnings: boolean): Promise<Validation> {
    const { buckets } = this.#deps.view;
    const read = readNewBucket(form, this.#ruleContext(buckets, null));
    const fields = tooManyBuckets(buckets, this.#bucketCountMax) ?? withWarnings(read, ignoreWarnings);
    return { fields, summaries: this.#summaries(read, null, buckets, await this.#use.disks()) };
  }

  async edit(name: string, form: Form, ignoreWarnings: boolean): Promise<void> {
    if (this.#isRebalancing) throw bucketRefusals.editDuringRebalance();
    const disk = await this.#use.disks();
    const done = await this.#deps.store.changeBucket(this.find(name).uuid, (present, state) => {
      const read = readChangedBucket(form, present, this.#ruleContext(state, present));
      if (read.problems.any) {
        const fields = withWarnings(read, ignoreWarnings);
        throw bucketRefusals.invalid(fields, this.#summaries(read, present, state, disk));
      }
      return { ...withReplicaNumber(present, read.choices.replicaNumber), ...read.choices };
    });
    if (!done) throw generalRefusals.notFound();
    await this.#deps.data.applied(done.revision, applyWaitMs);
  }

  async validateChange(name: string, form: Form, ignoreWarnings: boolean): Promise<Validation> {
    const present = this.find(name);
    const { buckets } = this.#deps.view;
    const read = readChangedBucket(form, present, this.#ruleContext(buckets, present));
    const summaries = this.#summaries(read, present, buckets, await this.#use.disks());
    return { fields: withWarnings(read, ignoreWarnings), summaries };
  }

  /** Resolves when the data service has removed the files. */
  async remove(name: string): Promise<void> {
    const { view, store, clock } = this.#deps;
    const { uuid } = this.find(name);
    if (this.#isRebalancing) throw bucketRefusals.deleteDuringRebalance();
    const done = await store.changeBucket(uuid, (bucket) => ({ ...bucket, state: 'deleting' }), {
      freesSpace: true,
    });
    if (!done) throw generalRefusals.notFound();
    const isRemoved = await until(
      view,
      () => view.buckets.byUuid[uuid] === undefined,
      removalTimeoutMs,
      clock,
    );
    if (!isRemoved) throw bucketRefusals.deletionContinues();
  }

  async flush(name: string): Promise<void> {
    const { data, store, isReplicated } = this.#deps;
    if (isReplicated(name)) throw bucketRefusals.flushReplicated();
    const emptied = (bucket: StoredBucket): StoredBucket => {
      if (!bucket.flushEnabled) throw bucketRefusals.flushDisabled();
      return { ...bucket, incarnation: bucket.incarnation + 1 };
    };
    const { uuid } = this.find(name);
    if (this.#isRebalancing) throw bucketRefusals.flushDuringRebalance();
    const freesSpace = (data.measured(uuid)?.diskBytes ?? 0) >= flushFreesBytes;
    const done = await store.changeBucket(uuid, emptied, { freesSpace });
    if (!done) throw generalRefusals.notFound();
    if (!(await data.applied(done.revision, flushTimeoutMs))) throw bucketRefusals.flushFailed();
    await this.#untilCopied(uuid);
  }

  /** Waits for the copies of empty shards, so that durable writes are usually possible right after the answer. */
  async #untilCopied(uuid: string): Promise<void> {
    const { view, clock } = this.#deps;
    await until(view, () => areCopiesInSync(view.map(uuid)), applyWaitMs, clock);
  }

  /**
   * Starts a compaction without waiting for it; in a bucket without files it only purges tombstones. While a compaction runs, a
   * request to purge all tombstones is queued, and any other is ignored.
   */
  async compact(name: string, origin: 'bucket' | 'databases', purge: 'old' | 'all' = 'old'): Promise<void> {
    const { data, clock, view } = this.#deps;
    const bucket = this.find(name);
    const old = purgeBeforeSeconds(bucket, clusterCompaction(view), clock.wallMs());
    await data.compact(bucket.uuid, { origin, purgeBeforeSeconds: purge === 'all' ? 'all' : old });
  }

  async cancelCompaction(name: string, origin: 'bucket' | 'databases'): Promise<void> {
    await this.#deps.data.cancelCompaction(this.find(name).uuid, origin);
  }

  /** Checked when a change begins: a rebalance that begins later includes the change. */
  get #isRebalancing(): boolean {
    return this.#deps.view.cluster.balance !== undefined;
  }

  get #bucketCountMax(): number {
    return bucketCountMax(this.#deps.view);
  }

  #ruleContext(buckets: BucketsState, present: StoredBucket | null): RuleContext {
    const { edition, wireNames, view } = this.#deps;
    const dataNodes = view.dataNodes.length;
    const used = present ? this.#use.of(present.uuid).memUsedBytes / Math.max(dataNodes, 1) : 0;
    return {
      buckets,
      edition,
      wireNames,
      dataNodes,
      usedMb: used / mib,
      compaction: clusterCompaction(view),
    };
  }

  #summaries(read: ReadBucket, present: StoredBucket | null, state: BucketsState, disk: DiskUse) {
    const { view } = this.#deps;
    const used = present ? this.#use.of(present.uuid) : null;
    const onDisk = Object.keys(state.byUuid).map((uuid) => this.#use.of(uuid).diskBytes);
    return bucketSummaries({
      memoryQuotaMb: state.memoryQuotaMb,
      othersMb: read.othersMb,
      quotaMb: read.quotaMb,
      nodes: view.dataNodes.length,
      memUsedBytes: used?.memUsedBytes ?? 0,
      diskUsedBytes: used?.diskBytes ?? 0,
      disk: { ...disk, usedByDataBytes: onDisk.reduce((sum, bytes) => sum + bytes, 0) },
    });
  }
}

function withWarnings(read: ReadBucket, ignoreWarnings: boolean): Record<string, string> {
  const fields = { ...read.problems.fields };
  if (!ignoreWarnings && read.warning !== null) fields['replicaNumber'] ??= read.warning;
  return fields;
}

function tooManyBuckets(state: BucketsState, countMax: number): Record<string, string> | null {
  if (Object.keys(state.byUuid).length < countMax) return null;
  return { _: `Cannot create more than ${countMax} buckets` };
}

/** The name of a bucket being deleted stays reserved until its files are removed. */
function nameInDeletion(name: string, state: BucketsState): Record<string, string> | null {
  const lower = name.toLowerCase();
  if (Object.values(state.byUuid).every((bucket) => bucket.name.toLowerCase() !== lower)) return null;
  return { _: 'Bucket with given name still exists' };
}
