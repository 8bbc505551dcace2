// Every step of an operation, interrupted before and after each of its effects: a new process continues and ends with the same cluster.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { KilledError, SimulatedClusterNodes, SimulatedNodes } from '../../../test/support/simulated-nodes.ts';
import { Capacity } from '../clusters/capacity.ts';
import { ClusterScaleService } from '../clusters/cluster-scale.service.ts';
import { groupOfEach, newNodeRows } from '../clusters/node-rows.ts';
import { DatabaseUsersService } from '../database-users/database-users.service.ts';
import { UnconfirmedUserChanges } from '../database-users/unconfirmed-user-changes.ts';
import { OperationsStore } from '../operations/operations.store.ts';
import type { Plan } from '../operations/step.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import type { Store } from '../store/tables.ts';
import { createCluster } from './create-cluster.ts';
import { type ScaleParts, scaleCluster } from './scale-cluster.ts';

const server = (size: number, services: readonly string[] = ['data'], compute = 'm5.xlarge') => ({
  size,
  compute,
  services: [...services] as 'data'[],
  storage: { type: 'GP3' as const, IOPS: 3000, size: 50 },
});
type Server = ReturnType<typeof server>;

/** Sleeping takes no time. */
class HurriedClock extends ManualClock {
  override async sleep(): Promise<void> {}
}

class Fixture {
  readonly simulated = new SimulatedNodes();
  readonly clock = new HurriedClock();
  readonly store: Store;
  readonly nodes: SimulatedClusterNodes;
  capacity = new Capacity({ capacityMb: 100_000, sizeScale: 1 / 64 });
  private readonly parts: ScaleParts;

  private constructor(store: Store) {
    const { clock, simulated } = this;
    this.store = store;
    const secrets = new SecretBox(realRandom.bytes(secretKeyBytes), realRandom);
    const { provisioner } = simulated;
    this.nodes = new SimulatedClusterNodes(
      { store, secrets, clock, provisioner, home: 'here', operatorAddress: undefined },
      simulated,
    );
    const unconfirmed = new UnconfirmedUserChanges({ store, home: 'here', clock, log: silentLog });
    const databaseUsers = new DatabaseUsersService({ store, unconfirmed, clock, random: realRandom });
    const allowlist = { apply: async () => {} };
    this.parts = { store, clock, provisioner, nodes: this.nodes, allowlist, databaseUsers };
  }

  static async create(t: TestContext): Promise<Fixture> {
    const { store } = openSqlite(':memory:');
    t.after(() => store.destroy());
    await migrate(store);
    return new Fixture(store);
  }

  async createCluster(...servers: Server[]): Promise<void> {
    const { store, nodes, capacity } = this;
    const groups = servers.map((group) => ({ ...group, memoryGib: gibOf(group), asked: group }));
    const place = { hosted: { provider: 'aws' } };
    const cluster = aClusterRow({
      phase: 'scheduled',
      spec: JSON.stringify({ servers: groups, support: null, place }),
      administrator_sealed: nodes.sealAdministrator({ username: 'a', password: 'b' }),
    });
    await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
    await store.insertInto('clusters').values(cluster).execute();
    const added = { clusterId: cluster.id, home: 'here', groups: groupOfEach(groups), firstPosition: 0 };
    const rows = newNodeRows(added, { random: realRandom, capacity });
    await store.insertInto('nodes').values(rows).execute();
    await this.run(createCluster(this.parts));
  }

  /** Resolves with false if there is nothing to do. */
  async scale(...servers: Server[]): Promise<boolean> {
    const { store, clock, nodes, capacity } = this;
    const operations = new OperationsStore({ store, clock, random: realRandom });
    const scaling = new ClusterScaleService({
      store,
      clock,
      nodes,
      capacities: { of: async () => capacity },
      operations,
      random: realRandom,
      wake: () => {},
    });
    const row = await this.cluster();
    const operation = await scaling.change({ row, client: await nodes.founderClient(row) }, servers);
    if (operation === null) return false;
    await this.run(scaleCluster(this.parts));
    return true;
  }

  cluster() {
    return this.store.selectFrom('clusters').selectAll().executeTakeFirstOrThrow();
  }

  /** Runs the steps as workers of successive processes do. */
  private async run({ steps, resumeAt }: Plan): Promise<void> {
    let at = 0;
    while (at < steps.length) {
      try {
        await steps[at]?.run(await this.cluster(), new AbortController().signal);
        at++;
      } catch (error) {
        if (!(error instanceof KilledError)) throw error;
        this.simulated.stopAll();
        at = Math.min(
          at,
          steps.findIndex(({ name }) => name === resumeAt),
        );
      }
    }
  }

  /** Checks that exactly these rows, members and folders exist. */
  async assertWhole(size: number): Promise<void> {
    const { simulated } = this;
    const rows = await this.nodes.rowsOf('c');
    const addresses = rows.map(({ address }) => address);
    assert.deepEqual([(await this.cluster()).phase, rows.length], ['ready', size]);
    assert.ok(rows.every(({ state }) => state === 'member'));
    assert.deepEqual(
      simulated.membersOf(addresses[0] as string).toSorted(),
      addresses.map((address) => `${address} active`).toSorted(),
    );
    assert.deepEqual([...simulated.folders.values()].sort(), addresses.toSorted());
    assert.deepEqual([...simulated.nodes.keys()].sort(), addresses.toSorted());
    assert.ok([...simulated.nodes.values()].every(({ isRunning }) => isRunning));
  }
}

const gibOf = ({ compute }: Server): number => ({ 'm5.xlarge': 16, 'm5.8xlarge': 128 })[compute] ?? 0;

test('the cloud creates and scales a cluster, although the process is killed before or after any one of its effects', async (t) => {
  const runOperation = async (kill: SimulatedNodes['kill']): Promise<number> => {
    const fixture = await Fixture.create(t);
    fixture.simulated.kill = kill;
    await fixture.createCluster(server(3));
    await fixture.assertWhole(3);
    const [founder] = await fixture.nodes.endpoints(await fixture.cluster());
    await fixture.scale(server(2));
    await fixture.assertWhole(2);
    await fixture.scale(server(3), server(1, ['index', 'query']));
    await fixture.assertWhole(4);
    assert.equal((await fixture.nodes.endpoints(await fixture.cluster()))[0], founder);
    return fixture.simulated.effects;
  };
  const effects = await runOperation(null);
  assert.ok(effects > 25, String(effects));
  for (let at = 0; at < effects; at++)
    for (const side of ['before', 'after'] as const)
      await t.test(`killed ${side} effect ${at}`, () => runOperation({ at, side }).then(() => {}));
});

test('the cloud gives each node its services, and the founder the data service although another group comes first', async (t) => {
  const fixture = await Fixture.create(t);
  await fixture.createCluster(server(1, ['query', 'index']), server(2));
  await fixture.assertWhole(3);
  const rows = await fixture.nodes.rowsOf('c');
  assert.deepEqual(
    rows.map(({ services }) => JSON.parse(services)),
    [['data'], ['data'], ['query', 'index']],
  );
  assert.equal(fixture.simulated.nodes.get(rows[2]?.address as string)?.services, 'n1ql,index');
});

test('buckets get the memory of the smallest node with data, and more once it has left', async (t) => {
  const fixture = await Fixture.create(t);
  await fixture.createCluster(server(1, ['data'], 'm5.8xlarge'), server(1));
  assert.equal(fixture.simulated.memoryQuota, 256);
  await fixture.scale(server(2, ['data'], 'm5.8xlarge'));
  await fixture.assertWhole(2);
  assert.equal(fixture.simulated.memoryQuota, 2048);
});

test('when a cluster gets the query service, its users get the query roles', async (t) => {
  const fixture = await Fixture.create(t);
  await fixture.createCluster(server(1));
  const user = { cluster_id: 'c', user_id: 'u', created_at: 0 };
  const access = JSON.stringify([{ bucketName: 'b', bucketAccess: ['data_reader'] }]);
  const users = ['u', 'v'].map((username) => ({ ...user, username, access }));
  await fixture.store.insertInto('database_users').values(users).execute();
  await fixture.scale(server(2));
  const { simulated } = fixture;
  assert.equal(simulated.roles.size, 0);
  await fixture.scale(server(2), server(1, ['query']));
  assert.deepEqual(
    [...simulated.roles],
    ['u', 'v'].map((name) => [`/settings/rbac/users/local/${name}`, 'data_reader[b],query_select[b]']),
  );
});

test('the cloud refuses a change by which the first node would leave, and names the instance of that node', async (t) => {
  const fixture = await Fixture.create(t);
  await fixture.createCluster(server(1), server(1, ['data'], 'm5.8xlarge'));
  assert.equal(await fixture.scale(server(1, ['data'], 'm5.8xlarge'), server(1)), false);
  await assert.rejects(
    fixture.scale(server(2, ['data'], 'm5.8xlarge')),
    /^ApiError: servers\.0\.compute: must stay "m5\.xlarge" for at least one node: /,
  );
  const asked = { size: 2, services: ['data'] };
  const spec = JSON.stringify({
    ...JSON.parse((await fixture.cluster()).spec),
    servers: [{ ...asked, memoryGib: 16, asked }],
  });
  await fixture.store.updateTable('clusters').set({ spec }).execute();
  await assert.rejects(
    fixture.scale(server(2, ['data'], 'm5.8xlarge')),
    /^ApiError: servers\.0\.compute: must stay an instance of 16 GiB for at least one node: /,
  );
});

test('the nodes of a cluster stay when its servers change after the operator gave another size scale', async (t) => {
  for (const sizeScale of [1 / 32, 1 / 128]) {
    const fixture = await Fixture.create(t);
    await fixture.createCluster(server(1), server(1, ['data'], 'm5.8xlarge'));
    const before = await fixture.nodes.endpoints(await fixture.cluster());
    fixture.capacity = new Capacity({ capacityMb: 100_000, sizeScale });
    await fixture.scale(server(1, ['data'], 'm5.8xlarge'), server(2));
    await fixture.assertWhole(3);
    assert.deepEqual((await fixture.nodes.endpoints(await fixture.cluster())).slice(0, 2), before);
    await fixture.scale(server(1, ['data'], 'm5.8xlarge'), server(1));
    await fixture.assertWhole(2);
  }
});

test('the cloud ejects a node that was added before its address was lost', async (t) => {
  const fixture = await Fixture.create(t);
  await fixture.createCluster(server(1));
  const [founder] = await fixture.nodes.endpoints(await fixture.cluster());
  (fixture.simulated.nodes.get(founder as string) as { name: string | null }).name = founder as string;
  const lost = { isRunning: false, name: '127.64.9.9', services: 'kv', membership: 'inactiveAdded' };
  fixture.simulated.nodes.set('127.64.9.9', { ...lost, founder: founder as string });
  await fixture.scale(server(2));
  assert.ok(fixture.simulated.calls.includes(`${founder} /controller/ejectNode`));
  fixture.simulated.nodes.delete('127.64.9.9');
  await fixture.assertWhole(2);
});

test('the cloud brings a node that was failed over back when the same servers are requested', async (t) => {
  const fixture = await Fixture.create(t);
  await fixture.createCluster(server(3));
  const [, second] = await fixture.nodes.endpoints(await fixture.cluster());
  const node = fixture.simulated.nodes.get(second as string);
  assert.ok(node !== undefined);
  node.membership = 'inactiveFailed';
  await fixture.scale(server(3));
  await fixture.assertWhole(3);
});

test('the cloud starts no operation for the servers that a cluster has, even while its founder does not respond', async (t) => {
  const fixture = await Fixture.create(t);
  await fixture.createCluster(server(2));
  assert.equal(await fixture.scale(server(2)), false);
  const [founder] = await fixture.nodes.endpoints(await fixture.cluster());
  const node = fixture.simulated.nodes.get(founder as string);
  assert.ok(node !== undefined);
  node.isRunning = false;
  assert.equal(await fixture.scale(server(2)), false);
  assert.equal((await fixture.cluster()).phase, 'ready');
});
