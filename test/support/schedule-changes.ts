// What administrators change in a simulated schedule while faults happen: the number of replicas, the eviction policy and the server groups; they
// flush the bucket, and delete it and create another one of its name.
import {
  type BucketsState,
  bucketsKey,
  type ClusterState,
  mapKey,
  noBuckets,
  type StoredBucket,
} from '#cluster/config/cluster-state.ts';
import { update } from '#replog/config-store.ts';
import { pick } from './schedule-keys.ts';
import type { ScheduleOrchestrators } from './schedule-orchestrators.ts';
import { newRecord } from './scheduled-bucket.ts';
import type { ScheduledCluster } from './scheduled-cluster.ts';

/** A request for a deletion or a creation is repeated after this time. */
const retryMs = 2_000;

export class ScheduleChanges {
  private readonly cluster: ScheduledCluster;
  private readonly orchestrators: ScheduleOrchestrators;
  private created = 0;
  private isRecreating = false;

  constructor(cluster: ScheduledCluster, orchestrators: ScheduleOrchestrators) {
    this.cluster = cluster;
    this.orchestrators = orchestrators;
  }

  changeReplicas(): boolean {
    // A bucket without replicas, of which no process may be killed, is rarer.
    const replicaNumber = pick(this.cluster.random, [0, 1, 1, 2, 2]);
    return this.edit((bucket) => ({ ...bucket, replicaNumber }));
  }

  /** Each node starts the bucket again. */
  changePolicy(): boolean {
    return this.edit((bucket) => ({
      ...bucket,
      evictionPolicy: bucket.evictionPolicy === 'valueOnly' ? 'fullEviction' : 'valueOnly',
    }));
  }

  flush(): boolean {
    return this.edit((bucket) => ({ ...bucket, incarnation: bucket.incarnation + 1 }));
  }

  /** Moves nodes to other server groups. */
  changeGroups(): boolean {
    const { random } = this.cluster;
    const groups = ['g0', 'g1'].map((uuid) => ({ uuid, name: uuid }));
    const wanted = this.cluster.names.map(() => `g${random(2)}`);
    void this.orchestrators.change(({ balance, ...state }) => ({
      ...state,
      groups,
      nodes: state.nodes.map((node, at) => ({ ...node, group: wanted[at] as string })),
      needsRebalance: true,
      ...(balance && { balance: { ...balance, isOutdated: true as const } }),
    }));
    return true;
  }

  /** Deletes the bucket, and creates another one once every active node has removed its files. */
  recreate(): boolean {
    if (this.isRecreating || this.isRefused) return false;
    void this.recreateOnce(this.cluster.bucket.uuid);
    return true;
  }

  /** Whether the nodes of each shard are in as many server groups as possible, and as many as the bucket wants. */
  get isFollowed(): boolean {
    const { bucket, current, names, state } = this.cluster;
    const groupOf = (node: string): string => state.nodes.find(({ uuid }) => uuid === node)?.group ?? 'g0';
    const groups = new Set(names.map(groupOf)).size;
    return current.shards.every(({ chain }) => {
      const used = new Set(chain.map((at) => groupOf(current.nodes[at] ?? '')));
      return chain.length === bucket.replicaNumber + 1 && used.size === Math.min(groups, chain.length);
    });
  }

  /** No bucket is changed during a rebalance, or while it does not exist. */
  private get isRefused(): boolean {
    const { bucket, state } = this.cluster;
    return state.balance !== undefined || bucket.record === null;
  }

  private edit(change: (bucket: StoredBucket) => StoredBucket): boolean {
    if (this.isRefused) return false;
    void this.changeBuckets((state) => withReady(state, change));
    return true;
  }

  private async changeBuckets(change: (state: BucketsState) => BucketsState): Promise<void> {
    // Without an answer the change may be made or not.
    await update(this.orchestrators.store, bucketsKey, noBuckets(0), change).catch(() => {});
  }

  private async recreateOnce(uuid: string): Promise<void> {
    const { bucket, clock } = this.cluster;
    this.isRecreating = true;
    while (bucket.record?.uuid === uuid) {
      await this.changeBuckets((state) =>
        withReady(state, (found) => (found.uuid === uuid ? { ...found, state: 'deleting' } : found)),
      );
      await clock.sleep(retryMs);
    }
    while (bucket.record === null) {
      await this.create();
      await clock.sleep(retryMs);
    }
    this.isRecreating = false;
  }

  /** The map is stored first. A name is reserved until the files of the bucket are removed. */
  private async create(): Promise<void> {
    const { cluster, orchestrators } = this;
    const { random, state } = cluster;
    const uuid = `b${++this.created}`;
    const active = activeIn(state);
    if (state.balance !== undefined || active.length === 0) return;
    const record = newRecord(uuid, 1 + random(2), pick(random, ['valueOnly', 'fullEviction']));
    const before = await orchestrators.store.get<BucketsState>(bucketsKey).catch(() => null);
    const map = cluster.newMap(active, record.replicaNumber);
    if ((await orchestrators.store.put(mapKey(uuid), map, 0).catch(() => null)) === null) return;
    await this.changeBuckets((buckets) => {
      const isTaken = Object.keys(buckets.byUuid).length > 0 || buckets.endedPlan !== before?.value.endedPlan;
      return isTaken ? buckets : { ...buckets, byUuid: { [uuid]: record } };
    });
  }
}

const activeIn = ({ nodes }: ClusterState): string[] =>
  nodes.filter(({ membership }) => membership === 'active').map(({ uuid }) => uuid);

function withReady(state: BucketsState, change: (bucket: StoredBucket) => StoredBucket): BucketsState {
  const byUuid = Object.fromEntries(
    Object.entries(state.byUuid).map(([uuid, bucket]) => [
      uuid,
      bucket.state === 'ready' ? change(bucket) : bucket,
    ]),
  );
  return { ...state, byUuid };
}
