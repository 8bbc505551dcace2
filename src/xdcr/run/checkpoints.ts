// Checkpoints of one replication: up to where each vbucket is replicated, and what the target then had. They count only while the
// target still has that: otherwise it lost documents that were replicated, and the vbucket is replicated again from the start.
import type { StreamPosition } from '#client/change-connection.ts';
import type { TargetPosition } from '../target/target-link.ts';
import type { CheckpointStore, ShardCheckpoint, VbCheckpoint } from '../xdcr.contract.ts';

export interface Mark {
  readonly source: StreamPosition;
  readonly target: { readonly uuid: bigint; readonly seqno: number };
}

/** Vbuckets with one remainder are one shard. */
const shardCount = 64;

export interface CheckpointsOptions {
  readonly replication: string;
  readonly sourceBucketUuid: string;
  readonly store: CheckpointStore;
}

export class Checkpoints {
  /** Ids of source collections that have to be replicated from the start once the target has them. */
  readonly skipped = new Set<number>();
  private readonly options: CheckpointsOptions;
  private readonly marks = new Map<number, Mark>();
  private readonly changed = new Set<number>();
  private targetBucketUuid = '';

  constructor(options: CheckpointsOptions) {
    this.options = options;
  }

  /** Reads what is stored for these buckets; vbuckets that have a mark keep it. */
  async load(targetBucketUuid: string): Promise<void> {
    if (this.targetBucketUuid !== targetBucketUuid) this.marks.clear();
    this.targetBucketUuid = targetBucketUuid;
    for (const stored of await this.options.store.load(this.options.replication)) {
      const isOfThese =
        stored.sourceBucketUuid === this.options.sourceBucketUuid &&
        stored.targetBucketUuid === targetBucketUuid;
      if (!isOfThese) continue;
      for (const id of stored.skipped) this.skipped.add(id);
      for (const one of stored.vbuckets) if (!this.marks.has(one.vb)) this.marks.set(one.vb, markOf(one));
    }
  }

  get(vb: number): Mark | undefined {
    return this.marks.get(vb);
  }

  set(vb: number, mark: Mark): void {
    this.marks.set(vb, mark);
    this.changed.add(vb % shardCount);
  }

  discard(vb: number): void {
    this.marks.delete(vb);
    this.changed.add(vb % shardCount);
  }

  /** The list of skipped collections changed: it is stored with each shard. */
  touchAll(): void {
    for (const vb of this.marks.keys()) this.changed.add(vb % shardCount);
  }

  /** Sum of the seqnos that marks cover. */
  get covered(): number {
    let sum = 0;
    for (const { source } of this.marks.values()) sum += source.seqno;
    return sum;
  }

  /** Stores the shards with changed marks. @throws Error when the store refuses */
  async save(): Promise<void> {
    const shards = [...this.changed];
    this.changed.clear();
    try {
      for (const shard of shards) await this.options.store.save(this.options.replication, this.stored(shard));
    } catch (error) {
      for (const shard of shards) this.changed.add(shard);
      throw error;
    }
  }

  private stored(shard: number): ShardCheckpoint {
    const vbuckets = [...this.marks].filter(([vb]) => vb % shardCount === shard);
    return {
      shard,
      sourceBucketUuid: this.options.sourceBucketUuid,
      targetBucketUuid: this.targetBucketUuid,
      vbuckets: vbuckets.map(([vb, mark]) => storedMark(vb, mark)),
      skipped: [...this.skipped],
    };
  }
}

/** Whether the target still has what it had then. */
export function stillHolds(target: Mark['target'], { log, high }: TargetPosition): boolean {
  const index = log.findIndex(({ uuid }) => uuid === target.uuid);
  if (index < 0) return false;
  // An entry of the log ends where the next newer one begins.
  const end = index === 0 ? high : (log[index - 1]?.seqno ?? 0);
  return target.seqno <= end;
}

const markOf = (one: VbCheckpoint): Mark => ({
  source: {
    uuid: BigInt(one.uuid),
    seqno: one.seqno,
    snapshotStart: one.snapshotStart,
    snapshotEnd: one.snapshotEnd,
  },
  target: { uuid: BigInt(one.targetUuid), seqno: one.targetSeqno },
});

const storedMark = (vb: number, { source, target }: Mark): VbCheckpoint => ({
  vb,
  uuid: String(source.uuid),
  seqno: source.seqno,
  snapshotStart: source.snapshotStart,
  snapshotEnd: source.snapshotEnd,
  targetUuid: String(target.uuid),
  targetSeqno: target.seqno,
});
