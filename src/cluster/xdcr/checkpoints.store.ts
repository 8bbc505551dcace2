// Keys `ckpt/<uuid of the target cluster>/<hash of the replication's id>/<shard>`: checkpoints of replications to other clusters. They
// outlive the replication, so that another replication between the same buckets continues from them, and are deleted with the source bucket
// or the reference to the target cluster.
import { createHash } from 'node:crypto';
import { type ConfigStore, update } from '#replog/config-store.ts';
import type { CheckpointStore, ShardCheckpoint } from '#xdcr/xdcr.contract.ts';

const checkpointPrefix = 'ckpt/';

export class CheckpointsInConfig implements CheckpointStore {
  readonly #store: ConfigStore;
  readonly #hasBucket: (uuid: string) => boolean;

  /** `hasBucket`: whether the bucket with this uuid exists and is not being deleted. */
  constructor(store: ConfigStore, hasBucket: (uuid: string) => boolean) {
    this.#store = store;
    this.#hasBucket = hasBucket;
  }

  async load(replication: string): Promise<ShardCheckpoint[]> {
    const entries = await this.#store.list<ShardCheckpoint>(`${keyOf(replication)}/`);
    return entries.map(({ value }) => value);
  }

  /** The last checkpoint of a replication that stops because its source bucket is being deleted is not stored. */
  async save(replication: string, checkpoint: ShardCheckpoint): Promise<void> {
    if (!this.#hasBucket(checkpoint.sourceBucketUuid)) return;
    await update(this.#store, `${keyOf(replication)}/${checkpoint.shard}`, checkpoint, () => checkpoint);
  }

  /** Deletes the checkpoints of all replications to a cluster. */
  async deleteForCluster(uuid: string): Promise<void> {
    for (const { key, revision } of await this.#store.list(`${checkpointPrefix}${uuid}/`))
      await this.#store.delete(key, revision);
  }
}

/** Deletes the checkpoints of replications from other buckets than these. */
export async function deleteOtherCheckpoints(
  store: ConfigStore,
  keeps: (bucketUuid: string) => boolean,
): Promise<void> {
  for (const { key, value, revision } of await store.list<ShardCheckpoint>(checkpointPrefix))
    if (!keeps(value.sourceBucketUuid)) await store.delete(key, revision);
}

/** The id contains names of buckets, which may have characters that keys cannot have; so the key has a hash of the id. */
function keyOf(replication: string): string {
  const [cluster = ''] = replication.split('/');
  const buckets = createHash('sha256').update(replication).digest('hex').slice(0, 32);
  return `${checkpointPrefix}${cluster}/${buckets}`;
}
