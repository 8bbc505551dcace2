import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { clusterKey, type RebalancePlan, type StoredBucket } from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { bucketServers, nodeServices } from './terse-config.ts';

async function viewWith(balance?: Partial<RebalancePlan>): Promise<ClusterView> {
  const store = new MemoryConfigStore();
  const view = new ClusterView(store, ownNodeId);
  const plan = { id: 'plan', kind: 'rebalance', term: 1, nodes: [], ejected: [], startedMs: 0 } as const;
  const querying = { services: ['kv', 'n1ql'], ports: { mgmt: 1, kv: 2, n1ql: 3 } };
  const nodes = [...aCluster().nodes, nodeNamed('b', querying as never), nodeNamed('c', querying as never)];
  await store.put(clusterKey, aCluster({ nodes, ...(balance && { balance: { ...plan, ...balance } }) }), 0);
  await view.start();
  return view;
}

async function serversWith(balance?: Partial<RebalancePlan>): Promise<string[]> {
  const view = await viewWith(balance);
  return bucketServers(view, { uuid: 'bucket' } as StoredBucket).map(({ uuid }) => uuid);
}

test('the server list of clients ends with the nodes that are about to leave; all others keep their order', async () => {
  assert.deepEqual(await serversWith(), [ownNodeId, 'b', 'c']);
  assert.deepEqual(await serversWith({}), [ownNodeId, 'b', 'c']);
  assert.deepEqual(await serversWith({ ejected: [ownNodeId] }), ['b', 'c', ownNodeId]);
  assert.deepEqual(await serversWith({ ejected: ['b'], failing: [ownNodeId] }), ['c', ownNodeId, 'b']);
});

test('clients send no more statements to nodes whose shards have moved before they leave', async () => {
  const queryPorts = async (balance: Partial<RebalancePlan>): Promise<(number | undefined)[]> => {
    const { nodesExt } = nodeServices(await viewWith(balance)) as {
      nodesExt: { services: { n1ql?: number } }[];
    };
    return nodesExt.slice(1).map(({ services }) => services.n1ql);
  };
  assert.deepEqual(await queryPorts({ ejected: ['b'] }), [3, 3]);
  assert.deepEqual(await queryPorts({ ejected: ['b'], hasMoved: true }), [undefined, 3]);
  assert.deepEqual(await queryPorts({ failing: ['c'], hasMoved: true }), [3, undefined]);
});

test('each node but the asked one has a host, also without a name: some clients refuse other configurations', async () => {
  const store = new MemoryConfigStore();
  const view = new ClusterView(store, ownNodeId);
  const others = [nodeNamed('b', { hostname: null }), nodeNamed('c', { hostname: 'c.example' })];
  await store.put(clusterKey, aCluster({ nodes: [...aCluster().nodes, ...others] }), 0);
  await view.start();
  const { nodesExt } = nodeServices(view) as { nodesExt: { hostname?: string; thisNode?: boolean }[] };
  assert.deepEqual(
    nodesExt.map(({ hostname, thisNode }) => [hostname, thisNode]),
    [
      [undefined, true],
      ['$HOST', undefined],
      ['c.example', undefined],
    ],
  );
});
