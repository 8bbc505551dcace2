import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { planned, stable } from '../../../test/support/moving-shards.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import {
  type BucketMap,
  bucketsKey,
  type ClusterState,
  clusterKey,
  mapKey,
} from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { CopyPositions, type NodePositions } from './copy-positions.ts';
import { retryDefaults } from './rebalance-retry.ts';
import { Rebalancer } from './rebalancer.ts';

const map = stable(planned('a b c', 2));
const everywhere = (seqno: number) => map.shards.map(() => ({ epoch: 1, seqno }));
const answerOf = (node: string, seqno: number): NodePositions => ({
  boot: `boot of ${node}`,
  shards: everywhere(seqno),
});

/** The positions as node `a` gathers them; `answers` are those of the other nodes; a node without one does not answer. */
function gathered(answers: Readonly<Record<string, NodePositions>>, down: readonly string[] = []) {
  const clock = new SimulatedClock();
  const askedNodes: string[] = [];
  const positions = new CopyPositions({
    nodeId: 'a',
    bootId: 'boot of a',
    clock,
    isDown: (node) => down.includes(node),
    data: { shardPositions: async () => everywhere(5) },
    peers: {
      answer: () => {},
      async ask(node, _name, _body, timeoutMs) {
        askedNodes.push(node);
        if (answers[node] === undefined) await clock.sleep(timeoutMs);
        return answers[node] ?? Promise.reject(new Error(`no answer in ${timeoutMs} ms`));
      },
    },
  });
  return { askedNodes, clock, positions };
}

const firstShardOf = (node: string): number =>
  map.shards.findIndex(({ chain }) => map.nodes[chain[0] ?? -1] === node);

describe('the positions of copies', () => {
  it('are asked of each node that may be promoted, if there are several', async () => {
    const { askedNodes, positions } = gathered({ b: answerOf('b', 7) });
    const { position } = await positions.statesAfter('x', map, ['c']);
    const shard = firstShardOf('c');
    assert.deepEqual([position('a', shard)?.seqno, position('b', shard)?.seqno], [5, 7]);
    assert.deepEqual(askedNodes, ['b']);
    await positions.statesAfter('x', stable(planned('a b c', 1)), ['c']);
    assert.deepEqual(askedNodes, ['b', 'b'], 'in-sync sets with node c lose a member');
  });

  it('are unknown of a node that is down, does not answer in time, or has restarted', async () => {
    const shard = firstShardOf('c');
    const down = gathered({ b: answerOf('b', 7) }, ['b']);
    assert.equal((await down.positions.statesAfter('x', map, ['c'])).position('b', shard), null);
    assert.deepEqual(down.askedNodes, []);
    const silent = gathered({});
    const states = silent.positions.statesAfter('x', map, ['c']);
    await silent.clock.run(500);
    assert.equal((await states).position('b', shard), null);
    assert.equal((await states).hasRestarted('b', shard), false);
    const restarted = gathered({ b: { ...answerOf('b', 7), boot: 'later' } });
    const after = await restarted.positions.statesAfter('x', map, ['c']);
    assert.equal(after.position('b', shard), null);
    assert.equal(after.hasRestarted('b', shard), true);
    assert.equal(after.hasRestarted('a', shard), false);
  });

  it('decide which copy a failover promotes', async () => {
    for (const furthest of ['a', 'b']) {
      const store = new MemoryConfigStore();
      const { clock, positions } = gathered({ b: answerOf('b', furthest === 'b' ? 9 : 1) });
      const balance = {
        id: 'plan',
        kind: 'failover' as const,
        term: 1,
        startedMs: 0,
        nodes: ['a', 'b'],
        ejected: [],
        failing: ['c'],
      };
      const nodes = ['a', 'b', 'c'].map((id) => nodeNamed(id));
      await store.put(clusterKey, aCluster({ nodes, balance }), 0);
      const record = { uuid: 'x', name: 'x', type: 'native', state: 'ready', replicaNumber: 2 };
      await store.put(bucketsKey, { memoryQuotaMb: 1024, byUuid: { x: record } }, 0);
      await store.put(mapKey('x'), map, 0);
      const view = new ClusterView(store, 'a');
      await view.start();
      const rebalancer = new Rebalancer({
        store,
        view,
        clock,
        identity: { nodeId: 'a' },
        log: silentLog,
        ended: () => {},
        term: () => 1,
        isDown: () => false,
        movesPerNode: () => 4,
        retries: () => retryDefaults,
        copies: (bucket, current, failed) => positions.statesAfter(bucket, current, failed),
      });
      rebalancer.start();
      await clock.run(3_000);
      rebalancer.stop();
      assert.equal((await store.get<ClusterState>(clusterKey))?.value.lastBalance?.outcome, 'completed');
      const after = (await store.get<BucketMap>(mapKey('x')))?.value ?? assert.fail('no map');
      const promoted = map.shards.flatMap(({ chain }, shard) =>
        map.nodes[chain[0] ?? -1] === 'c' ? [after.nodes[after.shards[shard]?.chain[0] ?? -1]] : [],
      );
      assert.deepEqual([...new Set(promoted)], [furthest]);
    }
  });
});
