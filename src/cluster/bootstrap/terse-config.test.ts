import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { clusterKey, type RebalancePlan, type StoredBucket } from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { bucketServers } from './terse-config.ts';

async function serversWith(balance?: Partial<RebalancePlan>): Promise<string[]> {
  const store = new MemoryConfigStore();
  const view = new ClusterView(store, ownNodeId);
  const plan = { id: 'plan', kind: 'rebalance', term: 1, nodes: [], ejected: [], startedMs: 0 } as const;
  const nodes = [...aCluster().nodes, nodeNamed('b'), nodeNamed('c')];
  await store.put(clusterKey, aCluster({ nodes, ...(balance && { balance: { ...plan, ...balance } }) }), 0);
  await view.start();
  return bucketServers(view, { uuid: 'bucket' } as StoredBucket).map(({ uuid }) => uuid);
}

test('the server list of clients ends with the nodes that are about to leave; all others keep their order', async () => {
  assert.deepEqual(await serversWith(), [ownNodeId, 'b', 'c']);
  assert.deepEqual(await serversWith({}), [ownNodeId, 'b', 'c']);
  assert.deepEqual(await serversWith({ ejected: [ownNodeId] }), ['b', 'c', ownNodeId]);
  assert.deepEqual(await serversWith({ ejected: ['b'], failing: [ownNodeId] }), ['c', ownNodeId, 'b']);
});
