import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SecretBox } from '#auth/secret-box.ts';
import { realRandom } from '#ports/random.ts';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import { OperationsStore } from '../operations/operations.store.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { Capacity } from './capacity.ts';
import { ClusterNodes } from './cluster-nodes.ts';
import { ClusterScaleService } from './cluster-scale.service.ts';

const server = {
  size: 1,
  compute: 'm5.xlarge',
  services: ['data' as const],
  storage: { type: 'GP3' as const, size: 50 },
};

test('a change of servers replaces an operation that ended with the cluster ready but was not recorded as done, as after a kill', async (t) => {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const place = { singleAZ: true, hosted: { provider: 'aws', region: 'us-east-1', CIDR: '10.0.0.0/16' } };
  const group = { size: 1, services: ['data'], memoryGib: 16, asked: server };
  const spec = JSON.stringify({ servers: [group], support: null, place });
  const row = aClusterRow({ environment: 'hosted', spec });
  await store.insertInto('clusters').values(row).execute();
  const node = { id: 'n', cluster_id: row.id, position: 0, memory_mb: 256, services: '["data"]' };
  await store
    .insertInto('nodes')
    .values({ ...node, address: '127.0.0.2', ports: '{}', home: row.home, state: 'member' })
    .execute();
  const parts = {
    store,
    clock: new ManualClock(),
    random: realRandom,
    provisioner: { downReason: () => null },
    capacity: new Capacity({ capacityMb: 1_000, sizeScale: 1 / 64 }),
    wake: () => {},
  };
  const operations = new OperationsStore(parts);
  const { id: clusterId, home } = row;
  const common = { clusterId, projectId: 'p', home, timeLimitMs: 1_000 };
  const creation = await operations.add(store, { ...common, kind: 'create', firstStep: 'publish' });
  const scaling = new ClusterScaleService({
    ...parts,
    operations,
    nodes: new ClusterNodes({ ...parts, secrets: {} as SecretBox, home, operatorAddress: undefined }),
  });
  const client = { request: async () => '{"balanced":true}' } as unknown as NodeClient;
  const change = await scaling.change({ row, client }, [{ ...server, size: 2 }]);
  const open = await store.selectFrom('operations').select('id').where('state', '=', 'open').execute();
  assert.notEqual(change, creation);
  assert.deepEqual(
    open.map(({ id }) => id),
    [change],
  );
});
