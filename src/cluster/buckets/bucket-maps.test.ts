import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnavailableError } from '#base/unavailable-error.ts';
import { memoryCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { aManager, managedCluster } from '../../../test/support/manager.ts';
import { type BucketMap, bucketsKey, clusterKey, mapKey, mapPrefix } from '../config/cluster-state.ts';
import { BucketMaps } from './bucket-maps.ts';

const form = { name: 'b', ramQuotaMB: '100', replicaNumber: '1' };

const configOf = async (request: Awaited<ReturnType<typeof aManager>>['request']) =>
  (await request('/pools/default/b/b')).body as {
    rev: number;
    revEpoch: number;
    vBucketServerMap: ServerMap;
  };
interface ServerMap {
  vBucketMap: number[][];
}

test('a bucket has its map from its first revision on, and its deletion removes the map', async () => {
  const { request, store } = await aManager();
  assert.equal((await request('/pools/default/buckets', { form })).status, 202);
  const { uuid } = (await request('/pools/default/buckets/b')).body;
  const map = await store.get<BucketMap>(mapKey(uuid));
  assert.equal(map?.value.shards.length, 64);
  const { rev, vBucketServerMap } = await configOf(request);
  assert.equal(vBucketServerMap.vBucketMap.length, 1024);
  assert.ok(vBucketServerMap.vBucketMap.every((row) => row.join() === '0,-1'));

  const shards = map?.value.shards.map((shard, at) => (at === 5 ? { epoch: 2, chain: [-1] } : shard)) ?? [];
  await store.put(mapKey(uuid), { ...map?.value, shards }, map?.revision ?? 0);
  const after = await configOf(request);
  assert.ok(after.rev > rev, 'a changed map is a newer configuration');
  assert.deepEqual(
    [5, 69, 6].map((vb) => after.vBucketServerMap.vBucketMap[vb]),
    [
      [-1, -1],
      [-1, -1],
      [0, -1],
    ],
  );
  assert.equal((await request('/pools/default/buckets/b', { method: 'DELETE' })).status, 200);
  assert.deepEqual(await store.list(mapPrefix), []);
});

test('no map is stored for a refused bucket or one without vbuckets', async () => {
  const { request, store } = await aManager();
  for (const wrong of [
    { ...form, ramQuotaMB: '1' },
    { ...form, bucketType: 'cache', replicaNumber: '0' },
  ])
    await request('/pools/default/buckets', { form: wrong });
  assert.deepEqual(await store.list(mapPrefix), []);
});

test('a bucket has its map when the creation failed but the store may have stored the bucket', async () => {
  const { request, store } = await aManager();
  const put = store.put.bind(store);
  store.put = async <T>(key: string, value: T, expectedRevision: number) => {
    const revision = await put(key, value, expectedRevision);
    if (key === bucketsKey) throw new UnavailableError('The change may be lost: no server confirmed it.');
    return revision;
  };
  assert.notEqual((await request('/pools/default/buckets', { form })).status, 202);
  const { uuid } = (await request('/pools/default/buckets/b')).body;
  assert.notEqual(await store.get(mapKey(uuid)), null);
});

test('the cluster manager adds the maps that a configuration of 0.1.0 lacks, and keeps existing ones', async () => {
  const first = await aManager();
  await first.request('/pools/default/buckets', { form });
  const { uuid } = (await first.request('/pools/default/buckets/b')).body;
  const map = await first.store.get(mapKey(uuid));
  await first.manager.stop();
  const second = await aManager({ store: first.store, provisioned: false });
  assert.equal((await second.store.get(mapKey(uuid)))?.revision, map?.revision);
  await second.manager.stop();
  await first.store.delete(mapKey(uuid), map?.revision ?? 0);
  const third = await aManager({ store: first.store, provisioned: false });
  assert.deepEqual((await third.store.get(mapKey(uuid)))?.value, map?.value);
});

test('the epoch of revisions is read from the configuration', async () => {
  const { request, store } = await aManager();
  await request('/pools/default/buckets', { form });
  assert.equal((await configOf(request)).revEpoch, 1);
  const cluster = await store.get<object>(clusterKey);
  await store.put(clusterKey, { ...cluster?.value, revEpoch: 3 }, cluster?.revision ?? 0);
  assert.equal((await configOf(request)).revEpoch, 3);
});

test('the cluster manager spreads a new bucket over the nodes that it is given', async () => {
  const { store } = await memoryCluster();
  const nodes = ['a', 'b'].map((id) => ({ id, group: '0' }));
  await new BucketMaps(store, 'a').create('spread', nodes);
  const map = (await store.get<BucketMap>(mapKey('spread')))?.value;
  const actives = map?.shards.map(({ chain }) => map.nodes[chain[0] ?? -1]);
  assert.equal(actives?.filter((node) => node === 'b').length, 32);
  await new BucketMaps(store, 'a').create('whole', nodes.slice(1));
  assert.deepEqual((await store.get<BucketMap>(mapKey('whole')))?.value.nodes, ['b']);
});

test('the copies of a new bucket are in different server groups, of which the first has the nodes without a group', async (t) => {
  const { request, change, store, manager } = await managedCluster([nodeNamed('b'), nodeNamed('c')]);
  t.after(() => manager.stop());
  await change((state) => ({
    ...state,
    groups: ['0', '1'].map((uuid) => ({ uuid, name: uuid })),
    nodes: state.nodes.map((node) =>
      node.uuid === 'b' ? node : { ...node, group: node.uuid === 'c' ? '1' : '0' },
    ),
  }));
  assert.equal((await request('/pools/default/buckets', { form })).status, 202);
  const [map] = await store.list<BucketMap>(mapPrefix);
  const { nodes = [], shards = [] } = map?.value ?? {};
  assert.deepEqual([...nodes].sort(), ['b', 'c', ownNodeId]);
  for (const { chain } of shards)
    assert.equal(chain.filter((position) => nodes[position] === 'c').length, 1, `${chain}`);
});
