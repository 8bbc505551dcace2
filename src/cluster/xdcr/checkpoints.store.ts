// Keys `ckpt/<uuid of the target cluster>/<hash of the replication's id>/<shard>`: checkpoints of replications to other clusters. They
// outlive the replication, so that another replication between the same buckets continues from them.
import { createHash } from 'node:crypto';
import { type ConfigStore, update } from '#replog/config-store.ts';
import type { CheckpointStore, ShardCheckpoint } from '#xdcr/xdcr.contract.ts';

const checkpointPrefix = 'ckpt/';

export class CheckpointsInConfig implements CheckpointStore {
  readonly #store: ConfigStore;

  constructor(store: ConfigStore) {
    this.#store = store;
  }

  async load(replication: string): Promise<ShardCheckpoint[]> {
    const entries = await this.#store.list<ShardCheckpoint>(`${keyOf(replication)}/`);
    return entries.map(({ value }) => value);
  }

  async save(replication: string, checkpoint: ShardCheckpoint): Promise<void> {
    await update(this.#store, `${keyOf(replication)}/${checkpoint.shard}`, checkpoint, () => checkpoint);
  }

  /** Deletes the checkpoints of all replications to a cluster. */
  async deleteForCluster(uuid: string): Promise<void> {
    for (const { key, revision } of await this.#store.list(`${checkpointPrefix}${uuid}/`))
      await this.#store.delete(key, revision);
  }
}

/** The id contains names of buckets, which may have characters that keys cannot have; so the key has a hash of the id. */
function keyOf(replication: string): string {
  const [cluster = ''] = replication.split('/');
  const buckets = createHash('sha256').update(replication).digest('hex').slice(0, 32);
  return `${checkpointPrefix}${cluster}/${buckets}`;
}
