import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import type { Store } from '../store/tables.ts';
import { OperationsStore } from './operations.store.ts';
import type { Plan } from './step.ts';
import { Worker } from './worker.ts';

const home = 'here';
const timeLimitMs = 120_000;
const leaseMs = 15_000;

class World {
  readonly clock = new ManualClock();
  readonly operations: OperationsStore;
  readonly store: Store;
  readonly workers: Worker[] = [];
  private readonly plan: Plan;

  private constructor(store: Store, plan: Plan) {
    this.store = store;
    this.plan = plan;
    this.operations = new OperationsStore({ store, clock: this.clock, random: realRandom });
  }

  static async of(t: TestContext, steps: Plan['steps'], resumeAt?: string): Promise<World> {
    const { store } = openSqlite(':memory:');
    await migrate(store);
    await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
    const world = new World(store, {
      steps,
      ...(resumeAt !== undefined && { resumeAt }),
      failed: async (transaction, id) => {
        await transaction.updateTable('clusters').set({ phase: 'failed' }).where('id', '=', id).execute();
      },
    });
    t.after(async () => {
      await Promise.all(world.workers.map((worker) => worker.stop()));
      await store.destroy();
    });
    return world;
  }

  worker(owner: string, operations = this.operations): Worker {
    const { store, clock, plan } = this;
    const plans = { create: plan, delete: plan };
    const worker = new Worker({ store, operations, plans, home, owner, clock, log: silentLog });
    this.workers.push(worker);
    return worker;
  }

  async cluster(id: string): Promise<void> {
    const text = { name: id, description: '', spec: '{}', phase: 'scheduled', administrator_sealed: '' };
    const times = { created_at: 0, updated_at: 0, deployed_at: null };
    await this.store
      .insertInto('clusters')
      .values({
        id,
        environment: 'vpc',
        project_id: 'p',
        cloud_id: null,
        node_count: 1,
        home,
        certificate: null,
        ...text,
        ...times,
      })
      .execute();
  }

  request(clusterId: string, kind: 'create' | 'delete' = 'create'): Promise<string> {
    const firstStep = this.plan.steps[0]?.name as string;
    return this.operations.add(this.store, { clusterId, projectId: 'p', kind, firstStep, home, timeLimitMs });
  }

  operation(id: string) {
    return this.store.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirst();
  }

  async stateOf(id: string): Promise<string | undefined> {
    return (await this.operation(id))?.state;
  }
}

test('runs an operation once, on any one of several workers', async (t) => {
  let runs = 0;
  const world = await World.of(t, [{ name: 'only', run: async () => void runs++ }]);
  await world.cluster('c');
  const ids = [await world.request('c'), await world.request('c'), await world.request('c')];
  for (const owner of ['a', 'b', 'c']) world.worker(owner).wake();
  await eventually(async () => {
    world.clock.advance(500);
    for (const id of ids) assert.equal(await world.stateOf(id), 'done');
  });
  assert.equal(runs, ids.length);
});

test('writes nothing more about an operation that another worker took over after the lease expired', async (t) => {
  const world = await World.of(t, [{ name: 'only', run: async () => {} }]);
  await world.cluster('c');
  const id = await world.request('c');
  assert.equal(await world.operations.claim(id, 'slow'), true);
  assert.equal(await world.operations.claim(id, 'other'), false);
  world.clock.advance(leaseMs);
  assert.equal(await world.operations.claim(id, 'other'), false);
  world.clock.advance(1);
  assert.equal(await world.operations.claim(id, 'other'), true);
  assert.equal(await world.operations.record(id, 'slow', { step: 'elsewhere' }), false);
  await world.operations.fail(id, 'slow', {}, () =>
    assert.fail('the slow worker must not end the operation'),
  );
  assert.equal((await world.operation(id))?.step, 'only');
  assert.equal(await world.operations.record(id, 'other', { state: 'done' }), true);
});

test('renews the lease while a step runs', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const world = await World.of(t, [{ name: 'long', run: () => promise }]);
  await world.cluster('c');
  const id = await world.request('c');
  world.worker('a').wake();
  await eventually(async () => assert.equal((await world.operation(id))?.owner, 'a'));
  for (let i = 0; i < 12; i++) {
    const before = (await world.operation(id))?.lease_until as number;
    world.clock.advance(5_000);
    await eventually(async () => assert.ok(((await world.operation(id))?.lease_until as number) > before));
    assert.equal(await world.operations.claim(id, 'b'), false);
  }
  resolve();
  await eventually(async () => assert.equal(await world.stateOf(id), 'done'));
});

test('retries a failing step with back-off, and fails the operation with the reason after its deadline', async (t) => {
  let tries = 0;
  const run = async (): Promise<void> => {
    tries++;
    throw new Error('the disk is full');
  };
  const world = await World.of(t, [{ name: 'write', run }]);
  await world.cluster('c');
  const id = await world.request('c');
  world.worker('a').wake();
  await eventually(async () => assert.equal((await world.operation(id))?.attempts, 1));
  assert.equal(await world.stateOf(id), 'open');
  await eventually(async () => {
    world.clock.advance(1_000);
    assert.equal(await world.stateOf(id), 'failed');
  });
  assert.ok(tries > 5 && tries < 60, `${tries} tries in two minutes`);
  assert.equal((await world.operation(id))?.last_error, 'the disk is full');
  const cluster = await world.store.selectFrom('clusters').select('phase').executeTakeFirstOrThrow();
  assert.equal(cluster.phase, 'failed');
});

for (const [hours, doc] of [
  [-5, 'back'],
  [5, 'forward'],
] as const)
  test(`continues an operation when the clock is set ${doc} by hours`, async (t) => {
    let tries = 0;
    const run = async (): Promise<void> => {
      if (++tries < 3) throw new Error('not yet');
    };
    const world = await World.of(t, [{ name: 'write', run }]);
    await world.cluster('c');
    const id = await world.request('c');
    world.worker('a').wake();
    await eventually(async () => assert.equal((await world.operation(id))?.attempts, 1));
    world.clock.setWall(hours * 3_600_000);
    for (let second = 0; second < 8; second++) {
      world.clock.advance(1_000);
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual([tries, await world.stateOf(id)], [3, 'done']);
  });

test('fails an operation after the maximum of attempts, also while the clock is set back', async (t) => {
  const world = await World.of(t, [{ name: 'write', run: () => Promise.reject(new Error('never')) }]);
  await world.cluster('c');
  const id = await world.request('c');
  world.worker('a').wake();
  await eventually(async () => assert.equal((await world.operation(id))?.attempts, 1));
  world.clock.setWall(-24 * 3_600_000);
  await eventually(async () => {
    world.clock.advance(5_000);
    assert.equal(await world.stateOf(id), 'failed');
  });
});

test('cancels an operation that another replaces, and never runs two operations on a cluster at once', async (t) => {
  let inside = 0;
  const run = async (_cluster: unknown, cancellation: AbortSignal): Promise<void> => {
    assert.equal(++inside, 1);
    if (tries++ === 0) await new Promise((resolve) => cancellation.addEventListener('abort', resolve));
    inside--;
    cancellation.throwIfAborted();
  };
  let tries = 0;
  const world = await World.of(t, [{ name: 'only', run }]);
  await world.cluster('c');
  const first = await world.request('c');
  world.worker('a').wake();
  await eventually(() => assert.equal(tries, 1));
  await world.operations.supersede(world.store, 'c', 'deleted');
  const second = await world.request('c', 'delete');
  await eventually(async () => {
    world.clock.advance(500);
    assert.equal(await world.stateOf(second), 'done');
  });
  const { state, last_error } = (await world.operation(first)) ?? {};
  assert.deepEqual([state, last_error], ['failed', 'deleted']);
});

test('deletes old operations of deleted clusters, and none of existing clusters', async (t) => {
  const world = await World.of(t, [{ name: 'only', run: async () => {} }]);
  await world.cluster('there');
  const kept = await world.request('there');
  const old = await world.request('gone');
  const open = await world.request('gone too');
  for (const id of [kept, old])
    await world.store.updateTable('operations').set({ state: 'done' }).where('id', '=', id).execute();
  world.clock.advance(30 * 86_400_000 - 1);
  await world.operations.prune();
  assert.equal(await world.stateOf(old), 'done');
  world.clock.advance(1);
  await world.operations.prune();
  assert.deepEqual(await Promise.all([kept, old, open].map((id) => world.stateOf(id))), [
    'done',
    undefined,
    'open',
  ]);
});

test('resumes at the step that the plan names if an earlier process ended in a later one', async (t) => {
  const runs: string[] = [];
  const steps = ['place', 'start', 'probe'].map((name) => ({ name, run: async () => void runs.push(name) }));
  const world = await World.of(t, steps, 'start');
  const at = { early: 'place', late: 'probe' };
  for (const [id, step] of Object.entries(at)) {
    await world.cluster(id);
    const operation = await world.request(id);
    await world.operations.claim(operation, 'ended');
    await world.operations.record(operation, 'ended', { step });
    await world.worker(id).start();
    await eventually(async () => assert.equal(await world.stateOf(operation), 'done'));
  }
  assert.deepEqual(runs, ['place', 'start', 'probe', 'start', 'probe']);
});
