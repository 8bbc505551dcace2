// The keys with the map of each bucket: which node holds which shard. Each map is written before its bucket and deleted after it, so that no
// bucket is seen without a map.
import type { ConfigStore } from '#replog/config-store.ts';
import {
  type BucketMap,
  type BucketsState,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
} from '../config/cluster-state.ts';
import { type DataNode, planMap } from '../topology/plan-map.ts';
import { mapOnOneNode } from '../topology/vbucket-map.ts';

export class BucketMaps {
  readonly #store: ConfigStore;
  readonly #nodeId: string;

  /** `nodeId` is the id of the node that runs this process. */
  constructor(store: ConfigStore, nodeId: string) {
    this.#store = store;
    this.#nodeId = nodeId;
  }

  /** Spreads the bucket over these nodes; with one node puts all of it there, with none on this node. An existing map is kept. */
  async create(bucketUuid: string, nodes: readonly DataNode[] = [], replicas = 0): Promise<void> {
    await this.#store.put(mapKey(bucketUuid), this.#newMap(nodes, replicas), 0);
  }

  #newMap(nodes: readonly DataNode[], replicas: number): BucketMap {
    if (nodes.length < 2) return mapOnOneNode(nodes[0]?.id ?? this.#nodeId);
    return planMap({ nodes, replicas, current: null });
  }

  async remove(bucketUuid: string): Promise<void> {
    const map = await this.#store.get(mapKey(bucketUuid));
    if (map) await this.#store.delete(map.key, map.revision);
  }

  /** Adds the maps that a configuration of 0.1.0 lacks: all buckets of its only node are on that node. */
  async addMissing(): Promise<void> {
    const nodes = (await this.#store.get<ClusterState>(clusterKey))?.value.nodes ?? [];
    const buckets = (await this.#store.get<BucketsState>(bucketsKey))?.value.byUuid ?? {};
    if (nodes.length > 1) return;
    for (const { uuid, type } of Object.values(buckets)) {
      const isMissing = type !== 'cache' && (await this.#store.get(mapKey(uuid))) === null;
      if (isMissing) await this.create(uuid);
    }
  }
}
