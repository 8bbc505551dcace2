import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { type ClusterState, clusterKey, type RebalancePlan } from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { desiredState } from './desired-state.ts';

async function keepsCopies(changes: Partial<ClusterState>): Promise<boolean> {
  const store = new MemoryConfigStore();
  const view = new ClusterView(store, ownNodeId);
  await store.put(clusterKey, aCluster(changes), 0);
  await view.start();
  const node = { identity: { nodeId: ownNodeId, bootId: 'boot' }, nodeTls: null };
  return desiredState(view, [], null, node).cluster?.keepsCopies ?? false;
}

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
