// Checkpoints of one replication: for each vbucket the replicated position of the source, and the position of the target at that time.
// A checkpoint is valid while the target still has its position; otherwise the target lost replicated documents, and the vbucket is
// replicated again from the start.
import type { StreamPosition } from '#client/change-connection.ts';
import { type CollectionMapping, mappingId } from '../mapping/mapping.contract.ts';
import type { CheckpointStore, ShardCheckpoint, VbCheckpoint } from '../xdcr.contract.ts';

/** How far one vbucket is replicated: a position of the source, and the position of the target at that time. */
export interface ReplicatedPosition {
  readonly source: StreamPosition;
  readonly target: { readonly uuid: bigint; readonly seqno: number };
}

/** The vbuckets are stored in this number of shards, by their remainder. */
const shardCount = 64;

export interface CheckpointsOptions {
  readonly replication: string;
  readonly sourceBucketUuid: string;
  /** The epoch of the present filter, then those of earlier filters whose checkpoints it continues. */
  readonly filterEpochs: readonly string[];
  readonly mappings: Mappings;
  readonly store: CheckpointStore;
}

export interface Mappings {
  readonly mapping: CollectionMapping;
  readonly formerMappings: readonly CollectionMapping[];
}

/** What the positions do not cover. */
export interface SkippedRoutes {
  /** Ids of routes with documents that were left out or lost: they are replicated from the start once the target has the collection. */
  readonly skipped: Set<string>;
  /**
   * The highest id that a collection of the target had. Collections that it creates later have higher ones, and nothing of what was
   * replicated before, also under the name of a collection that was dropped. Null: none is known.
   */
  newestTargetCollection: number | null;
}

export class Checkpoints implements SkippedRoutes {
  readonly skipped = new Set<string>();
  newestTargetCollection: number | null = null;
  private readonly options: CheckpointsOptions;
  private filterEpochs: readonly string[];
  private mappings: Mappings;
  /** Ids of the mappings under which positions were recorded since the last comparison. */
  private readonly recordedMappings = new Set<string>();
  private readonly positions = new Map<number, ReplicatedPosition>();
  /** The shards whose checkpoints are not stored yet. */
  private readonly changedShards = new Set<number>();
  /** The shards of the vbuckets that this node replicates: other nodes store the others. */
  private ownShards: ReadonlySet<number> = new Set();
  private targetBucketUuid = '';

  constructor(options: CheckpointsOptions) {
    this.options = options;
    this.filterEpochs = options.filterEpochs;
    this.mappings = options.mappings;
  }

  /** Under a filter that does not continue the checkpoints of the present one, everything is replicated from the start. */
  useFilter(epochs: readonly string[]): void {
    const [present = ''] = this.filterEpochs;
    this.filterEpochs = epochs;
    if (!epochs.includes(present)) this.positions.clear();
  }

  /** Applies changed mappings. After more changes than the definition keeps, everything is replicated from the start. */
  useMappings(mappings: Mappings): void {
    this.recordedMappings.add(mappingId(this.mappings.mapping));
    this.mappings = mappings;
    if ([...this.recordedMappings].every((id) => this.isKnown(id))) return;
    this.positions.clear();
    this.recordedMappings.clear();
  }

  /** The former mappings under which positions were recorded. */
  outdatedMappings(): CollectionMapping[] {
    return this.mappings.formerMappings.filter((former) => this.recordedMappings.has(mappingId(former)));
  }

  /** Call once all routes that the outdated mappings did not have are in `skipped`: those mappings are then no longer needed. */
  mappingsCompared(): void {
    this.recordedMappings.clear();
  }

  /** Reads the stored checkpoints of those vbuckets that have no position in memory. Other nodes store those of other vbuckets. */
  async load(targetBucketUuid: string, vbuckets: readonly number[]): Promise<void> {
    if (this.targetBucketUuid !== targetBucketUuid) {
      this.positions.clear();
      this.newestTargetCollection = null;
    }
    this.targetBucketUuid = targetBucketUuid;
    const own = new Set(vbuckets);
    this.ownShards = new Set(vbuckets.map((vb) => vb % shardCount));
    for (const vb of this.positions.keys()) if (!own.has(vb)) this.positions.delete(vb);
    let newest = this.newestTargetCollection ?? Number.POSITIVE_INFINITY;
    for (const stored of await this.options.store.load(this.options.replication)) {
      const isValid =
        stored.sourceBucketUuid === this.options.sourceBucketUuid &&
        stored.targetBucketUuid === targetBucketUuid &&
        this.filterEpochs.includes(stored.filterEpoch);
      if (!isValid || !this.isKnown(stored.mapping)) continue;
      const taken = stored.vbuckets.filter(({ vb }) => own.has(vb) && !this.positions.has(vb));
      if (taken.length === 0) continue;
      this.recordedMappings.add(stored.mapping);
      for (const id of stored.skipped) this.skipped.add(id);
      newest = Math.min(newest, stored.newestTargetCollection ?? newest);
      for (const checkpoint of taken) this.positions.set(checkpoint.vb, positionFrom(checkpoint));
    }
    this.newestTargetCollection = Number.isFinite(newest) ? newest : null;
  }

  get(vb: number): ReplicatedPosition | undefined {
    return this.positions.get(vb);
  }

  set(vb: number, position: ReplicatedPosition): void {
    this.positions.set(vb, position);
    this.changedShards.add(vb % shardCount);
  }

  discard(vb: number): void {
    this.positions.delete(vb);
    this.changedShards.add(vb % shardCount);
  }

  /** Call when the skipped routes change: they are stored with each shard. */
  skippedChanged(vbuckets: readonly number[]): void {
    for (const vb of vbuckets) if (this.positions.has(vb)) this.changedShards.add(vb % shardCount);
  }

  /** Sum of the recorded seqnos of the source. */
  get covered(): number {
    let sum = 0;
    for (const { source } of this.positions.values()) sum += source.seqno;
    return sum;
  }

  private isKnown(id: string): boolean {
    const { mapping, formerMappings } = this.mappings;
    return [mapping, ...formerMappings].some((known) => mappingId(known) === id);
  }

  /** Stores the checkpoints of the own shards in which positions or skipped routes have changed. @throws Error when the store refuses */
  async save(): Promise<void> {
    const shards = [...this.changedShards];
    this.changedShards.clear();
    try {
      for (const shard of shards)
        if (this.ownShards.has(shard))
          await this.options.store.save(this.options.replication, this.stored(shard));
    } catch (error) {
      for (const shard of shards) this.changedShards.add(shard);
      throw error;
    }
  }

  private stored(shard: number): ShardCheckpoint {
    const vbuckets = [...this.positions].filter(([vb]) => vb % shardCount === shard);
    return {
      shard,
      sourceBucketUuid: this.options.sourceBucketUuid,
      targetBucketUuid: this.targetBucketUuid,
      filterEpoch: this.filterEpochs[0] as string,
      mapping: mappingId(this.mappings.mapping),
      vbuckets: vbuckets.map(([vb, position]) => storedPosition(vb, position)),
      skipped: [...this.skipped],
      ...(this.newestTargetCollection !== null && { newestTargetCollection: this.newestTargetCollection }),
    };
  }
}

const positionFrom = (checkpoint: VbCheckpoint): ReplicatedPosition => ({
  source: {
    uuid: BigInt(checkpoint.uuid),
    seqno: checkpoint.seqno,
    snapshotStart: checkpoint.snapshotStart,
    snapshotEnd: checkpoint.snapshotEnd,
  },
  target: { uuid: BigInt(checkpoint.targetUuid), seqno: checkpoint.targetSeqno },
});

const storedPosition = (vb: number, { source, target }: ReplicatedPosition): VbCheckpoint => ({
  vb,
  uuid: String(source.uuid),
  seqno: source.seqno,
  snapshotStart: source.snapshotStart,
  snapshotEnd: source.snapshotEnd,
  targetUuid: String(target.uuid),
  targetSeqno: target.seqno,
});
