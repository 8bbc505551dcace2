import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { bucketsKey, type ClusterState, clusterKey, type RebalancePlan } from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { nodeAddressOf } from '../peers/inter-node.ts';
import { desiredState } from './desired-state.ts';

async function desiredOf(changes: Partial<ClusterState>) {
  const store = new MemoryConfigStore();
  const view = new ClusterView(store, ownNodeId);
  await store.put(clusterKey, aCluster(changes), 0);
  const bucket = { uuid: 'b', name: 'b', type: 'cache', state: 'ready', replicaNumber: 1 };
  await store.put(bucketsKey, { memoryQuotaMb: 1024, byUuid: { b: bucket } }, 0);
  await view.start();
  const node = { identity: { nodeId: ownNodeId, bootId: 'boot' }, nodeTls: null };
  return desiredState(view, [], null, node);
}

const keepsCopies = async (changes: Partial<ClusterState>): Promise<boolean> =>
  (await desiredOf(changes)).cluster?.keepsCopies ?? false;

test('a node that was failed over keeps its buckets until it is recovered or removed; an added one has none', async () => {
  for (const [state, keeps] of [
    [{ membership: 'active' }, true],
    [{ membership: 'inactiveFailed' }, true],
    [{ membership: 'inactiveAdded', recovery: 'full' }, true],
    [{ membership: 'inactiveAdded', recovery: 'delta' }, true],
    [{ membership: 'inactiveAdded' }, false],
  ] as const) {
    const nodes = [...aCluster().nodes.map((node) => ({ ...node, ...state })), nodeNamed('b')];
    const { buckets, cluster } = await desiredOf({ nodes });
    assert.equal(buckets.length, keeps ? 1 : 0, JSON.stringify(state));
    if (keeps) assert.equal(cluster?.keepsCopies ?? false, state.membership !== 'active');
  }
});

test('a node keeps copies without a place in the maps while it is failed over or recovered by delta recovery', async () => {
  const nodes = [...aCluster().nodes, nodeNamed('b')];
  const recovered = nodes.map((node) => ({
    ...node,
    ...(node.uuid === ownNodeId && { keepsCopies: true as const }),
  }));
  const balance: RebalancePlan = {
    id: 'plan',
    kind: 'failover',
    term: 1,
    nodes: ['b'],
    ejected: [],
    startedMs: 0,
  };
  assert.equal(await keepsCopies({ nodes }), false);
  assert.equal(await keepsCopies({ nodes: recovered }), true);
  assert.equal(await keepsCopies({ nodes, balance: { ...balance, failing: [ownNodeId] } }), true);
  assert.equal(await keepsCopies({ nodes, balance: { ...balance, failing: ['b'] } }), false);
});

test('nodes without a name reach each other at the loopback address of their address family', async () => {
  const ports = { ...nodeNamed('b').ports, replication: 7, distTLS: 8 };
  const network = { afamily: 'inet6', nodeEncryption: false, afamilyOnly: false, listeners: [] } as const;
  const others = [
    nodeNamed('b', { hostname: null, ports, network }),
    nodeNamed('c', { hostname: null, ports }),
    nodeNamed('d', { hostname: 'd.example', ports, network }),
  ];
  const { cluster } = await desiredOf({ nodes: [...aCluster().nodes, ...others] });
  const hosts = ['::1', '127.0.0.1', 'd.example'];
  assert.deepEqual(
    cluster?.peers.map(({ host }) => host),
    hosts,
  );
  assert.deepEqual(
    others.map((node) => nodeAddressOf(node).host),
    hosts,
  );
});
