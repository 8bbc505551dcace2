import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { realRandom } from '#ports/random.ts';
import { untilAborted } from '#ports/within.ts';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ClusterNodes } from '../clusters/cluster-nodes.ts';
import { AddressInUseError, type NodePorts, type Provisioner } from '../provisioner/provisioner.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { createCluster } from './create-cluster.ts';

const ports = { rest: 1, kv: 2 } as NodePorts;

/** A cluster whose nodes have no addresses yet. */
async function aNewCluster(t: TestContext, size: number) {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  const clock = new ManualClock();
  const secrets = new SecretBox(realRandom.bytes(secretKeyBytes), realRandom);
  const nodes = new ClusterNodes({
    store,
    secrets,
    clock,
    operatorAddress: undefined,
    provisioner: { downReason: () => null },
    home: 'here',
  });
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const cluster = aClusterRow({
    phase: 'scheduled',
    administrator_sealed: nodes.sealAdministrator({ username: 'a', password: 'b' }),
  });
  await store.insertInto('clusters').values(cluster).execute();
  const node = { cluster_id: 'c', memory_mb: 256, services: '[]', home: 'here', state: 'new' };
  const rows = Array.from({ length: size }, (_, position) => ({ ...node, id: `n${position}`, position }));
  await store
    .insertInto('nodes')
    .values(rows.map((row) => ({ ...row, address: '', ports: '' })))
    .execute();
  return { store, clock, nodes, cluster };
}

test('the creation of a cluster chooses another address for a node when another program uses the first', async (t) => {
  const { store, clock, nodes, cluster } = await aNewCluster(t, 1);
  const started: string[] = [];
  const removed: string[] = [];
  let places = 0;
  const provisioner: Partial<Provisioner> = {
    place: async () => ({ address: `127.64.0.${++places}`, ports }),
    start: async ({ address }) => {
      started.push(address);
      if (address === '127.64.0.1') throw new AddressInUseError('taken');
    },
    remove: async (id) => void removed.push(id),
  };
  const parts = { store, nodes, clock, provisioner: provisioner as Provisioner };
  const { steps } = createCluster({ ...parts, allowlist: { apply: async () => {} } });
  const [place, start] = steps;
  const { signal } = new AbortController();
  await place?.run(cluster, signal);
  await assert.rejects(start?.run(cluster, signal) as Promise<void>, AddressInUseError);
  await start?.run(cluster, signal);
  assert.deepEqual(started, ['127.64.0.1', '127.64.0.2']);
  assert.deepEqual(removed, ['n0']);
  assert.equal((await nodes.rowsOf('c'))[0]?.address, '127.64.0.2');
});

test('the creation of a cluster starts no more nodes once it is cancelled', async (t) => {
  const { store, clock, nodes, cluster } = await aNewCluster(t, 9);
  const cancellation = new AbortController();
  const { signal } = cancellation;
  const started: string[] = [];
  let places = 0;
  const provisioner: Partial<Provisioner> = {
    place: async () => ({ address: `127.64.0.${++places}`, ports }),
    start: async ({ id }) => {
      started.push(id);
      if (started.length === 4) cancellation.abort(new Error('the cluster is deleted'));
      await untilAborted(signal, new Promise<void>(() => {}));
    },
  };
  const parts = { store, nodes, clock, provisioner: provisioner as Provisioner };
  const { steps } = createCluster({ ...parts, allowlist: { apply: async () => {} } });
  const start = steps.find(({ name }) => name === 'start');
  await assert.rejects(start?.run(cluster, signal) as Promise<void>, /the cluster is deleted/);
  assert.deepEqual(started, ['n0', 'n1', 'n2', 'n3']);
});
