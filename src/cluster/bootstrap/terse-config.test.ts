import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostAndPortOf } from '#base/host-and-port.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import {
  clusterKey,
  type NodeNetwork,
  type NodeState,
  type RebalancePlan,
  type StoredBucket,
} from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { bucketServers, nodeServices, terseBucketConfig } from './terse-config.ts';

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

/** Hosts as clients are told: of the nodes in `nodesExt`, in the server list and in `nodes`. */
async function shownHosts(
  nodes: NodeState[],
  listens: { listensOnLoopbackOnly: boolean },
): Promise<[extended: (string | undefined)[], servers: string[], nodes: string[]]> {
  const store = new MemoryConfigStore();
  const view = new ClusterView(store, ownNodeId, listens);
  await store.put(clusterKey, aCluster({ nodes: [...aCluster().nodes, ...nodes] }), 0);
  await view.start();
  const bucket = { name: 'b', uuid: 'bucket', type: 'native', replicaNumber: 0 } as StoredBucket;
  const terse = terseBucketConfig(view, bucket) as unknown as {
    nodesExt: { hostname?: string; thisNode?: boolean }[];
    vBucketServerMap: { serverList: string[] };
    nodes: { hostname: string }[];
  };
  assert.deepEqual(nodeServices(view)['nodesExt'], terse.nodesExt);
  assert.deepEqual(
    terse.nodesExt.map(({ thisNode }) => thisNode),
    [true, ...nodes.map(() => undefined)],
  );
  return [
    terse.nodesExt.map(({ hostname }) => hostname),
    terse.vBucketServerMap.serverList.map((server) => hostAndPortOf(server).host),
    terse.nodes.map(({ hostname }) => hostAndPortOf(hostname).host),
  ];
}

test('each node but the asked one has a host, also without a name: some clients refuse other configurations', async () => {
  const others = [nodeNamed('b', { hostname: null }), nodeNamed('c', { hostname: 'c.example' })];
  const [extended, ...rest] = await shownHosts(others, { listensOnLoopbackOnly: false });
  assert.deepEqual(extended, [undefined, '$HOST', 'c.example']);
  const hosts = ['$HOST', '$HOST', 'c.example'];
  assert.deepEqual(rest, [hosts, hosts]);
});

test('nodes without a name that listen on loopback only have its address: some clients do not replace a placeholder', async () => {
  const sixth: NodeNetwork = { afamily: 'inet6', nodeEncryption: false, afamilyOnly: false, listeners: [] };
  const others = [
    nodeNamed('b', { hostname: null }),
    nodeNamed('c', { hostname: null, network: sixth }),
    nodeNamed('d', { hostname: '127.0.0.9' }),
  ];
  const hosts = ['127.0.0.1', '127.0.0.1', '::1', '127.0.0.9'];
  assert.deepEqual(await shownHosts(others, { listensOnLoopbackOnly: true }), [hosts, hosts, hosts]);
});

test('a single node that listens on loopback has the host that the client connected to, a tunnel for example', async () => {
  assert.deepEqual(await shownHosts([], { listensOnLoopbackOnly: true }), [
    [undefined],
    ['$HOST'],
    ['$HOST'],
  ]);
});
