import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { SecretBox } from '#auth/secret-box.ts';
import { realRandom } from '#ports/random.ts';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import { OperationsStore } from '../operations/operations.store.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { ClusterNodes } from './cluster-nodes.ts';
import { ClusterScaleService } from './cluster-scale.service.ts';
import { HomeCapacities } from './home-capacities.ts';

const server = {
  size: 1,
  compute: 'm5.xlarge',
  services: ['data' as const],
  storage: { type: 'GP3' as const, size: 50 },
};

/** The service of a server, and a ready cluster of one node with this memory that another server runs. */
async function aReadyCluster(t: TestContext, memoryMb: number) {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const place = { singleAZ: true, hosted: { provider: 'aws', region: 'us-east-1', CIDR: '10.0.0.0/16' } };
  const group = { size: 1, services: ['data'], memoryGib: 16, asked: server };
  const spec = JSON.stringify({ servers: [group], support: null, place });
  const row = aClusterRow({ environment: 'hosted', spec });
  await store.insertInto('clusters').values(row).execute();
  const node = { id: 'n', cluster_id: row.id, position: 0, memory_mb: memoryMb, services: '["data"]' };
  await store
    .insertInto('nodes')
    .values({ ...node, address: '127.0.0.2', ports: '{}', home: row.home, state: 'member' })
    .execute();
  const parts = {
    store,
    clock: new ManualClock(),
    random: realRandom,
    provisioner: { downReason: () => null },
    capacities: new HomeCapacities({ store, home: 'another', capacityMb: 100, sizeScale: 1 / 16 }),
    wake: () => {},
  };
  const ofNodes = new HomeCapacities({ store, home: row.home, capacityMb: 1_000, sizeScale: 1 / 64 });
  await ofNodes.record();
  const operations = new OperationsStore(parts);
  const scaling = new ClusterScaleService({
    ...parts,
    operations,
    nodes: new ClusterNodes({
      ...parts,
      secrets: {} as SecretBox,
      home: row.home,
      operatorAddress: undefined,
    }),
  });
  return { store, operations, scaling, row };
}

test('a change of servers replaces an operation that ended with the cluster ready but was not recorded as done, as after a kill', async (t) => {
  const { store, operations, scaling, row } = await aReadyCluster(t, 256);
  const { id: clusterId, home } = row;
  const common = { clusterId, projectId: 'p', home, timeLimitMs: 1_000 };
  const creation = await operations.add(store, { ...common, kind: 'create', firstStep: 'publish' });
  const client = { request: async () => '{"balanced":true}' } as unknown as NodeClient;
  const change = await scaling.change({ row, client }, [{ ...server, size: 2 }]);
  const open = await store.selectFrom('operations').select('id').where('state', '=', 'open').execute();
  assert.notEqual(change, creation);
  assert.deepEqual(
    open.map(({ id }) => id),
    [change],
  );
});

test('a server gives nodes of another one the memory that its size scale says, up to its capacity', async (t) => {
  const { store, scaling, row } = await aReadyCluster(t, 256);
  const client = { request: async () => '{"balanced":true}' } as unknown as NodeClient;
  const three = [{ ...server, size: 3 }];
  await assert.rejects(
    scaling.change({ row, client }, [{ ...server, size: 4 }]),
    /would take 768 MB and 744 of 1000 MB are free/,
  );
  await scaling.change({ row, client }, three);
  const nodes = await store.selectFrom('nodes').select('memory_mb').execute();
  assert.deepEqual(
    nodes.map(({ memory_mb }) => memory_mb),
    [256, 256, 256],
  );
});

test('a change of servers refuses new nodes with less memory than the buckets take, and lets the present nodes keep theirs', async (t) => {
  // With the size scale of the service a node of this instance gets 256 MB.
  const { scaling, row } = await aReadyCluster(t, 512);
  const mb = 1024 * 1024;
  const ram = { quotaTotalPerNode: 512 * mb, quotaUsedPerNode: 400 * mb };
  const answer = JSON.stringify({ balanced: true, storageTotals: { ram } });
  const client = { request: async () => answer } as unknown as NodeClient;
  assert.equal(await scaling.change({ row, client }, [server]), null);
  await assert.rejects(
    scaling.change({ row, client }, [{ ...server, size: 2 }]),
    /servers\.0\.compute: gives a node 256 MB, and the buckets take 400 MB on each/,
  );
});
