// The setting `rebalanceMovesPerNode` limits the moves of a rebalance that the orchestrator of a cluster runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { planned, reacted, stable } from '../../../test/support/moving-shards.ts';
import { randomFrom } from '../../../test/support/random.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import {
  type BucketMap,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
} from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { SettingsStore } from '../config/settings.store.ts';
import { internalDefaults, internalSetting } from '../internal-settings/internal-settings.ts';
import type { Heartbeat } from './heartbeats.ts';
import { Orchestration, type OrchestrationDeps } from './orchestration.ts';

const uuid = 'bucket';

/** The most moves of any node in the map. */
function movesOf({ nodes, shards }: BucketMap): number {
  const moving = shards.filter(
    ({ incoming = [], successor }) => incoming.length > 0 || successor !== undefined,
  );
  return Math.max(
    ...nodes.map(
      (_, node) => moving.filter(({ chain, incoming = [] }) => [...chain, ...incoming].includes(node)).length,
    ),
  );
}

/** The peers of node a: they run, and answer nothing but heartbeats. */
function runningPeers(names: readonly string[], clock: SimulatedClock): OrchestrationDeps['peers'] {
  return {
    ask: () => Promise.reject(new Error('it does not answer')),
    answer(name, answer) {
      if (name !== 'heartbeat') return;
      const beat = (): void => {
        const heartbeat: Heartbeat = { hears: names };
        for (const from of names.slice(1)) answer(heartbeat as never, from);
        clock.after(1_000, beat);
      };
      clock.after(10, beat);
    },
  };
}

test('a rebalance moves as many shards of a node at once as the setting says, also after the setting is changed', async (t) => {
  const clock = new SimulatedClock();
  const store = new MemoryConfigStore();
  const names = ['a', 'b', 'c'];
  await store.put(clusterKey, aCluster({ nodes: names.map((name) => nodeNamed(name)) }), 0);
  const record = { uuid, name: uuid, type: 'native', state: 'ready', replicaNumber: 1 };
  await store.put(bucketsKey, { memoryQuotaMb: 1024, byUuid: { [uuid]: record } }, 0);
  await store.put(mapKey(uuid), stable(planned('a b', 1)), 0);
  const settings = new SettingsStore(store);
  const set = (moves: number) =>
    settings.change(internalSetting, internalDefaults, { rebalanceMovesPerNode: moves });
  await set(1);
  const view = new ClusterView(store, 'a');
  await view.start();
  const orchestration = new Orchestration({
    store,
    view,
    clock,
    log: silentLog,
    random: realRandom,
    identity: { nodeId: 'a', bootId: 'a 1' },
    peers: runningPeers(names, clock),
    events: { record: () => {} } as unknown as OrchestrationDeps['events'],
    alerts: { raise: () => {} } as unknown as OrchestrationDeps['alerts'],
    data: { measured: () => null, shardPositions: () => Promise.resolve([]) },
    founderChange: { head: {}, noticeFor: () => null, noticed: () => {} },
  });
  orchestration.start();
  t.after(() => orchestration.stop());
  await clock.run(10_000);
  const cluster = async () => (await store.get<ClusterState>(clusterKey)) ?? assert.fail('no cluster');
  const { revision, value } = await cluster();
  const term =
    (await store.get<{ term: number }>('orchestrator'))?.value.term ?? assert.fail('no orchestrator');
  const balance = { id: 'plan', kind: 'rebalance', term, nodes: names, ejected: [], startedMs: 0 } as const;
  await store.put(clusterKey, { ...value, balance }, revision);

  const random = randomFrom(5);
  /** The most moves of a node while the data services follow the map `rounds` times. */
  const mostMoves = async (rounds: number): Promise<number> => {
    let most = 0;
    for (let round = 0; round < rounds; round++) {
      const map = (await store.get<BucketMap>(mapKey(uuid))) ?? assert.fail('no map');
      most = Math.max(most, movesOf(map.value));
      await store.put(mapKey(uuid), reacted(map.value, random, 50), map.revision);
      await clock.run(500);
      if ((await cluster()).value.balance === undefined) break;
    }
    return most;
  };
  assert.equal(await mostMoves(30), 1);
  await set(6);
  assert.equal(await mostMoves(600), 6);
  assert.equal((await cluster()).value.balance, undefined, 'the rebalance ends');
});
