// Rebalances over simulated time: orchestrators on a store with faults, and data services that only follow the maps.
import assert from 'node:assert/strict';
import { ClusterStore } from '#cluster/config/cluster.store.ts';
import {
  type BucketMap,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
  mapPrefix,
  type RebalanceOutcome,
  type RebalancePlan,
} from '#cluster/config/cluster-state.ts';
import { ClusterView } from '#cluster/config/cluster-view.ts';
import {
  RebalanceRetries,
  type RetrySettings,
  retryDefaults,
} from '#cluster/orchestrator/rebalance-retry.ts';
import { Rebalancer } from '#cluster/orchestrator/rebalancer.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from './cluster.ts';
import { FaultyConfigStore, StoreHistory } from './faulty-config-store.ts';
import { planned, reacted, stable } from './moving-shards.ts';
import { type Random, randomFrom } from './random.ts';
import { SimulatedClock } from './simulated-clock.ts';

export const plan = (changes: Partial<RebalancePlan>): RebalancePlan => ({
  id: 'plan',
  kind: 'rebalance',
  term: 1,
  nodes: [],
  ejected: [],
  startedMs: 0,
  ...changes,
});

export const buckets = ['first', 'second'];

/** A cluster of the nodes `names` with two buckets, whose shards are on the nodes `on` at first; names are separated by spaces. */
export async function cluster(names: string, on: string, random: Random = randomFrom(5)) {
  const clock = new SimulatedClock();
  const server = new MemoryConfigStore();
  const history = await StoreHistory.recording(server);
  await server.put(clusterKey, aCluster({ nodes: names.split(' ').map((id) => nodeNamed(id)) }), 0);
  const records = buckets.map((uuid) => [
    uuid,
    { uuid, name: uuid, type: 'native', state: 'ready', replicaNumber: 1 },
  ]);
  await server.put(bucketsKey, { memoryQuotaMb: 1024, byUuid: Object.fromEntries(records) }, 0);
  for (const uuid of buckets) await server.put(mapKey(uuid), stable(planned(on, 1)), 0);
  const down = new Set<string>();
  /** The data services react to the maps, every half second. */
  const followMaps = async (): Promise<void> => {
    for (const { key, value, revision } of await server.list<BucketMap>(mapPrefix)) {
      const next = withoutReactionsOf(down, value, reacted(value, random, 50));
      const isSame = next.shards.every((shard, index) => shard === value.shards[index]);
      if (!isSame) await server.put(key, next, revision);
    }
    clock.after(500, () => void followMaps());
  };
  clock.after(100, () => void followMaps());
  const ended: RebalanceOutcome[] = [];
  const retrySettings = { ...retryDefaults };
  const orchestrator = async (initialTerm: number | null, nodeId = names.split(' ').at(-1) ?? '') => {
    const store = new FaultyConfigStore({ server, history, clock, random });
    const view = new ClusterView(server, nodeId);
    await view.start();
    const lease = { term: initialTerm };
    const rebalancer = new Rebalancer({
      store,
      view,
      clock,
      identity: { nodeId },
      log: silentLog,
      term: () => lease.term,
      isDown: (node) => down.has(node),
      movesPerNode: () => 4,
      retries: () => retrySettings,
      ended: (end) => ended.push(end),
    });
    rebalancer.start();
    const retries = new RebalanceRetries({
      view,
      clock,
      log: silentLog,
      random: realRandom,
      cluster: new ClusterStore(server, ''),
      term: () => lease.term,
      settings: () => retrySettings,
      planned: () => rebalancer.wake(),
    });
    retries.start();
    return { lease, store, rebalancer };
  };
  const change = (changes: Partial<ClusterState>) =>
    update<ClusterState>(server, clusterKey, aCluster(), (state) => ({ ...state, ...changes }));
  const state = async (): Promise<ClusterState> =>
    ((await server.get<ClusterState>(clusterKey)) ?? assert.fail('no cluster')).value;
  const map = async (uuid: string): Promise<BucketMap> =>
    ((await server.get<BucketMap>(mapKey(uuid))) ?? assert.fail('no map')).value;
  const untilEnded = async (): Promise<void> => {
    for (let seconds = 0; seconds < 600; seconds++) {
      if ((await state()).balance === undefined) return;
      await clock.run(1_000);
    }
    assert.fail('the rebalance does not end');
  };
  return { clock, server, down, ended, retrySettings, orchestrator, change, state, map, untilEnded };
}

/** A cluster after a rebalance that failed since a node was down, with these settings of retries. */
export async function failedRebalance(settings: Partial<RetrySettings>) {
  const parts = await cluster('a b c', 'a b');
  Object.assign(parts.retrySettings, settings);
  await parts.orchestrator(1);
  parts.down.add('c');
  await parts.change({ balance: plan({ nodes: ['a', 'b', 'c'] }) });
  await parts.untilEnded();
  return parts;
}

/** The map in which shards are as before where the node that serves them is down. */
function withoutReactionsOf(down: ReadonlySet<string>, before: BucketMap, after: BucketMap): BucketMap {
  const shards = before.shards.map((shard, index) =>
    down.has(before.nodes[shard.chain[0] ?? -1] ?? '') ? shard : (after.shards[index] ?? shard),
  );
  return { ...after, shards };
}
