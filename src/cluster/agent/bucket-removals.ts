// Deletes the records of deleted buckets once all nodes with documents have removed the files: until then the names are reserved.
import type { ConfigStore } from '#replog/config-store.ts';
import { BucketMaps } from '../buckets/bucket-maps.ts';
import { BucketsStore, withBucket } from '../buckets/buckets.store.ts';
import { manifestKey, type StoredBucket } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { deleteOtherCheckpoints } from '../xdcr/checkpoints.store.ts';

export interface BucketRemovalsDeps {
  store: ConfigStore;
  identity: Pick<NodeIdentity, 'nodeId'>;
  view: Pick<ClusterView, 'buckets' | 'dataNodes' | 'isActive'>;
}

export class BucketRemovals {
  readonly #deps: BucketRemovalsDeps;
  readonly #buckets: BucketsStore;
  readonly #maps: BucketMaps;

  constructor(deps: BucketRemovalsDeps) {
    this.#deps = deps;
    this.#buckets = new BucketsStore(deps.store);
    this.#maps = new BucketMaps(deps.store, deps.identity.nodeId);
  }

  /** Confirms that this node has removed the files. The last node that does so deletes the records. */
  async confirm({ uuid, removedBy = [] }: StoredBucket): Promise<void> {
    const { view, identity } = this.#deps;
    const { nodeId } = identity;
    if (!view.isActive) return;
    const waiting = view.dataNodes.filter(({ uuid: id }) => id !== nodeId && !removedBy.includes(id));
    if (waiting.length === 0) return this.#deleteRecords(uuid);
    if (removedBy.includes(nodeId)) return;
    await this.#buckets.change((state) => {
      const bucket = state.byUuid[uuid];
      if (bucket === undefined) return state;
      const confirmed = [...new Set([...(bucket.removedBy ?? []), nodeId])];
      return withBucket(state, { ...bucket, removedBy: confirmed });
    });
  }

  /** The record in the key `buckets` is deleted last, so that the deletion is repeated after a crash. */
  async #deleteRecords(uuid: string): Promise<void> {
    const { store, view } = this.#deps;
    const manifest = await store.get(manifestKey(uuid));
    if (manifest) await store.delete(manifest.key, manifest.revision);
    await this.#maps.remove(uuid);
    await deleteOtherCheckpoints(store, (other) => other !== uuid && other in view.buckets.byUuid);
    await this.#buckets.change(
      (state) => {
        const { [uuid]: _gone, ...byUuid } = state.byUuid;
        return { ...state, byUuid };
      },
      { freesSpace: true },
    );
  }
}
