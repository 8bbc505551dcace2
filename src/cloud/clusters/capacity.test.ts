import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { Capacity } from './capacity.ts';

test('the nodes of all clusters together get no more memory than the capacity', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const cluster = aClusterRow({});
  await store.insertInto('clusters').values(cluster).execute();
  const capacity = new Capacity({ capacityMb: 1_000, sizeScale: 1 / 64 });
  // 16 GiB are 256 MB here, 32 are 512.
  const reserve = (...groups: [number, number][]) =>
    capacity.reserve(
      store,
      cluster.home,
      groups.map(([size, memoryGib]) => ({ size, memoryGib, services: [], asked: null })),
    );
  const node = {
    cluster_id: cluster.id,
    services: '[]',
    address: '',
    ports: '{}',
    home: cluster.home,
    state: 'member',
  };
  await reserve([1, 32], [1, 16]);
  await assert.rejects(reserve([2, 32]), /would take 1024 MB and 1000 of 1000 MB are free/);
  await store
    .insertInto('nodes')
    .values({ ...node, id: 'n', position: 0, memory_mb: 488 })
    .execute();
  await store
    .insertInto('nodes')
    .values({ ...node, id: 'other', home: 'another server', position: 9, memory_mb: 999 })
    .execute();
  await reserve([1, 32]);
  await assert.rejects(reserve([1, 32], [1, 16]), /would take 768 MB and 512 of 1000 MB are free/);
  await store
    .insertInto('nodes')
    .values({ ...node, id: 'm', position: 1, memory_mb: 1 })
    .execute();
  await assert.rejects(reserve([1, 32]), /would take 512 MB and 511 of 1000 MB are free/);
});

test('a server with less capacity than its nodes have refuses more nodes, but no change without new ones', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const { id, home } = aClusterRow({});
  await store.insertInto('clusters').values(aClusterRow({})).execute();
  const node = { id: 'n', cluster_id: id, home, position: 0, services: '[]', address: '', ports: '{}' };
  await store
    .insertInto('nodes')
    .values({ ...node, memory_mb: 512, state: 'member' })
    .execute();
  const capacity = new Capacity({ capacityMb: 300, sizeScale: 1 / 64 });
  await capacity.reserve(store, home, []);
  const group = { size: 1, memoryGib: 16, services: [], asked: null };
  await assert.rejects(capacity.reserve(store, home, [group]), /would take 256 MB and 0 of 300 MB are free/);
});
