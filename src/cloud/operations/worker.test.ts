import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually, eventuallyWithin } from '../../../test/support/node-process.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import type { Store } from '../store/tables.ts';
import { OperationsStore } from './operations.store.ts';
import type { Plan } from './step.ts';
import { Worker } from './worker.ts';

const home = 'here';
const timeLimitMs = 120_000;
const leaseMs = 15_000;

class Fixture {
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

  static async create(t: TestContext, steps: Plan['steps'], resumeAt?: string): Promise<Fixture> {
    const { store } = openSqlite(':memory:');
    await migrate(store);
    await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
    const fixture = new Fixture(store, {
      steps,
      ...(resumeAt !== undefined && { resumeAt }),
      failed: async (transaction, id) => {
        await transaction.updateTable('clusters').set({ phase: 'failed' }).where('id', '=', id).execute();
      },
    });
    t.after(async () => {
      await Promise.all(fixture.workers.map((worker) => worker.stop()));
      await store.destroy();
    });
    return fixture;
  }

  worker(owner: string, operations = this.operations): Worker {
    const { store, clock, plan } = this;
    const plans = { create: plan, scale: plan, delete: plan };
    const unknownFailed = plan.failed;
    const options = { store, operations, plans, unknownFailed, home, owner, clock, log: silentLog };
    const worker = new Worker(options);
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

  async phase(): Promise<string> {
    return (await this.store.selectFrom('clusters').select('phase').executeTakeFirstOrThrow()).phase;
  }

  async stateOf(id: string): Promise<string | undefined> {
    return (await this.operation(id))?.state;
  }
}

test('an operation runs once, on any one of several workers', async (t) => {
  let runs = 0;
  const fixture = await Fixture.create(t, [{ name: 'only', run: async () => void runs++ }]);
  await fixture.cluster('c');
  const ids = [await fixture.request('c'), await fixture.request('c'), await fixture.request('c')];
  for (const owner of ['a', 'b', 'c']) fixture.worker(owner).wake();
  await eventually(async () => {
    fixture.clock.advance(500);
    for (const id of ids) assert.equal(await fixture.stateOf(id), 'done');
  });
  assert.equal(runs, ids.length);
});

test('the worker runs an operation at once that is requested while the worker looks up when to poll next', async (t) => {
  const fixture = await Fixture.create(t, [{ name: 'only', run: async () => {} }]);
  await fixture.cluster('c');
  const requested = Promise.withResolvers<string>();
  let isFirst = true;
  const operations = new (class extends OperationsStore {
    override async nextAt(home: string): Promise<number | null> {
      const next = await super.nextAt(home);
      if (!isFirst) return next;
      isFirst = false;
      requested.resolve(await fixture.request('c'));
      worker.wake();
      return next;
    }
  })({ store: fixture.store, clock: fixture.clock, random: realRandom });
  const worker = fixture.worker('a', operations);
  worker.wake();
  const id = await requested.promise;
  await eventually(async () => assert.equal(await fixture.stateOf(id), 'done'));
});

test('the worker writes nothing more about an operation that another worker took over after the lease expired', async (t) => {
  const fixture = await Fixture.create(t, [{ name: 'only', run: async () => {} }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  assert.equal(await fixture.operations.claim(id, 'slow'), true);
  assert.equal(await fixture.operations.claim(id, 'other'), false);
  fixture.clock.advance(leaseMs);
  assert.equal(await fixture.operations.claim(id, 'other'), false);
  fixture.clock.advance(1);
  assert.equal(await fixture.operations.claim(id, 'other'), true);
  assert.equal(await fixture.operations.record(id, 'slow', { step: 'elsewhere' }), false);
  await fixture.operations.fail(id, 'slow', {}, () =>
    assert.fail('the slow worker must not end the operation'),
  );
  assert.equal((await fixture.operation(id))?.step, 'only');
  assert.equal(await fixture.operations.record(id, 'other', { state: 'done' }), true);
});

test('the worker renews the lease while a step runs', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const fixture = await Fixture.create(t, [{ name: 'long', run: () => promise }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  fixture.worker('a').wake();
  await eventually(async () => assert.equal((await fixture.operation(id))?.owner, 'a'));
  for (let i = 0; i < 12; i++) {
    const before = (await fixture.operation(id))?.lease_until as number;
    fixture.clock.advance(5_000);
    await eventually(async () => assert.ok(((await fixture.operation(id))?.lease_until as number) > before));
    assert.equal(await fixture.operations.claim(id, 'b'), false);
  }
  resolve();
  await eventually(async () => assert.equal(await fixture.stateOf(id), 'done'));
});

test('the worker cancels a running step once another worker has taken over its operation', async (t) => {
  let reason: Error | null = null;
  const run = async (_cluster: unknown, cancellation: AbortSignal): Promise<void> => {
    await new Promise((resolve) => cancellation.addEventListener('abort', resolve));
    reason = cancellation.reason as Error;
  };
  const fixture = await Fixture.create(t, [{ name: 'long', run }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  fixture.worker('a').wake();
  await eventually(() =>
    assert.equal(fixture.clock.pending, 2, 'of the next poll, and of the renewal of the lease'),
  );
  const taken = { owner: 'b', lease_until: fixture.clock.wallMs() + leaseMs };
  await fixture.store.updateTable('operations').set(taken).where('id', '=', id).execute();
  fixture.clock.advance(5_000);
  await eventually(() =>
    assert.equal(reason?.message, 'another worker holds the lease, or another operation replaced this one'),
  );
  assert.deepEqual([await fixture.stateOf(id), (await fixture.operation(id))?.owner], ['open', 'b']);
});

test('the worker retries a failing step with back-off, and fails the operation with the reason after its deadline', async (t) => {
  let tries = 0;
  const run = async (): Promise<void> => {
    tries++;
    throw new Error('the disk is full');
  };
  const fixture = await Fixture.create(t, [{ name: 'write', run }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  fixture.worker('a').wake();
  await eventually(async () => assert.equal((await fixture.operation(id))?.attempts, 1));
  assert.equal(await fixture.stateOf(id), 'open');
  await eventually(async () => {
    fixture.clock.advance(1_000);
    assert.equal(await fixture.stateOf(id), 'failed');
  });
  assert.ok(tries > 5 && tries < 60, `${tries} tries in two minutes`);
  assert.equal((await fixture.operation(id))?.last_error, 'the disk is full');
  assert.equal(await fixture.phase(), 'failed');
});

test('an operation whose last step succeeds in its second attempt ends without an error', async (t) => {
  let tries = 0;
  const run = async (): Promise<void> => {
    if (++tries === 1) throw new Error('the disk is full');
  };
  const fixture = await Fixture.create(t, [{ name: 'only', run }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  fixture.worker('a').wake();
  await eventually(async () => assert.equal((await fixture.operation(id))?.last_error, 'the disk is full'));
  await eventually(async () => {
    fixture.clock.advance(1_000);
    assert.equal(await fixture.stateOf(id), 'done');
  });
  const { attempts, last_error: reason } = (await fixture.operation(id)) ?? {};
  assert.deepEqual([attempts, reason], [0, null]);
});

test('the worker pauses between attempts at a step that this version does not know', async (t) => {
  const fixture = await Fixture.create(t, [{ name: 'only', run: async () => {} }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  await fixture.operations.claim(id, 'newer');
  await fixture.operations.record(id, 'newer', { step: 'later', owner: null, lease_until: 0 });
  fixture.worker('a').wake();
  await eventually(async () => assert.equal((await fixture.operation(id))?.attempts, 1));
  const { last_error: reason, next_at: nextAt = 0 } = (await fixture.operation(id)) ?? {};
  assert.equal(reason, 'this version has no step "later"');
  assert.ok(Number(nextAt) > fixture.clock.wallMs());
});

test('the worker pauses between attempts at an operation of a kind that this version does not know, and fails it in the end', async (t) => {
  const fixture = await Fixture.create(t, [{ name: 'only', run: async () => {} }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  await fixture.store.updateTable('operations').set({ kind: 'upgrade' }).execute();
  fixture.worker('a').wake();
  await eventually(async () => assert.equal((await fixture.operation(id))?.attempts, 1));
  const { last_error: reason, next_at: nextAt = 0 } = (await fixture.operation(id)) ?? {};
  assert.equal(reason, 'this version has no operation "upgrade"');
  assert.ok(Number(nextAt) > fixture.clock.wallMs());
  await eventually(async () => {
    fixture.clock.advance(timeLimitMs);
    assert.equal(await fixture.stateOf(id), 'failed');
  });
  assert.equal(await fixture.phase(), 'failed');
});

for (const [hours, direction] of [
  [-5, 'back'],
  [5, 'forward'],
] as const)
  test(`the worker continues an operation when the clock is set ${direction} by hours`, async (t) => {
    let tries = 0;
    const run = async (): Promise<void> => {
      if (++tries < 3) throw new Error('not yet');
    };
    const fixture = await Fixture.create(t, [{ name: 'write', run }]);
    await fixture.cluster('c');
    const id = await fixture.request('c');
    fixture.worker('a').wake();
    await eventually(async () => assert.equal((await fixture.operation(id))?.attempts, 1));
    fixture.clock.setWall(hours * 3_600_000);
    for (let second = 0; second < 8; second++) {
      fixture.clock.advance(1_000);
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual([tries, await fixture.stateOf(id)], [3, 'done']);
  });

test('the worker fails an operation after the maximum number of attempts, also while the clock is set back', async (t) => {
  const fixture = await Fixture.create(t, [{ name: 'write', run: () => Promise.reject(new Error('never')) }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  fixture.worker('a').wake();
  await eventually(async () => assert.equal((await fixture.operation(id))?.attempts, 1));
  fixture.clock.setWall(-24 * 3_600_000);
  await eventually(async () => {
    fixture.clock.advance(5_000);
    assert.equal(await fixture.stateOf(id), 'failed');
  });
});

test('the worker cancels an operation that another replaces, and never runs two operations on a cluster at once', async (t) => {
  let inside = 0;
  let tries = 0;
  const run = async (_cluster: unknown, cancellation: AbortSignal): Promise<void> => {
    assert.equal(++inside, 1);
    if (tries++ === 0) await new Promise((resolve) => cancellation.addEventListener('abort', resolve));
    inside--;
    cancellation.throwIfAborted();
  };
  const fixture = await Fixture.create(t, [{ name: 'only', run }]);
  await fixture.cluster('c');
  const first = await fixture.request('c');
  fixture.worker('a').wake();
  await eventually(() => assert.equal(tries, 1));
  await fixture.operations.supersede(fixture.store, 'c', 'deleted');
  const second = await fixture.request('c', 'delete');
  await eventually(async () => {
    fixture.clock.advance(500);
    assert.equal(await fixture.stateOf(second), 'done');
  });
  const { state, last_error } = (await fixture.operation(first)) ?? {};
  assert.deepEqual([state, last_error], ['failed', 'deleted']);
});

test('the worker cancels a replaced operation also while the maximum number of operations runs', async (t) => {
  const seen = new Set<string>();
  const run = async ({ id }: { id: string }, cancellation: AbortSignal): Promise<void> => {
    if (seen.has(id)) return;
    seen.add(id);
    await new Promise((resolve) => cancellation.addEventListener('abort', resolve));
    cancellation.throwIfAborted();
  };
  const fixture = await Fixture.create(t, [{ name: 'only', run }]);
  const ids = ['c', 'd', 'e', 'f'];
  for (const id of ids) {
    await fixture.cluster(id);
    await fixture.request(id);
  }
  const worker = fixture.worker('a');
  worker.wake();
  await eventually(() => assert.equal(seen.size, ids.length));
  await fixture.operations.supersede(fixture.store, 'd', 'deleted');
  const deletion = await fixture.request('d', 'delete');
  worker.wake();
  await eventuallyWithin(20_000, async () => {
    fixture.clock.advance(500);
    assert.equal(await fixture.stateOf(deletion), 'done');
  });
});

test('the worker deletes old operations of deleted clusters, and none of existing clusters', async (t) => {
  const fixture = await Fixture.create(t, [{ name: 'only', run: async () => {} }]);
  await fixture.cluster('there');
  const requested = await fixture.request('there');
  const old = await fixture.request('gone');
  const open = await fixture.request('gone too');
  for (const id of [requested, old])
    await fixture.store.updateTable('operations').set({ state: 'done' }).where('id', '=', id).execute();
  fixture.clock.advance(30 * 86_400_000 - 1);
  await fixture.operations.prune();
  assert.equal(await fixture.stateOf(old), 'done');
  fixture.clock.advance(1);
  await fixture.operations.prune();
  assert.deepEqual(await Promise.all([requested, old, open].map((id) => fixture.stateOf(id))), [
    'done',
    undefined,
    'open',
  ]);
});

test('the worker gives an operation the rest of its time after hours without a process', async (t) => {
  let tries = 0;
  const run = async (): Promise<void> => {
    if (++tries < 10) throw new Error('not yet');
  };
  const fixture = await Fixture.create(t, [{ name: 'join', run }]);
  await fixture.cluster('c');
  const id = await fixture.request('c');
  await fixture.operations.claim(id, 'ended');
  fixture.clock.advance(20_000);
  await fixture.operations.record(id, 'ended', {});
  for (const hours of [5, 7]) {
    fixture.clock.setWall(hours * 3_600_000);
    await fixture.operations.takeOver(home);
    await fixture.operations.takeOver(home);
  }
  const { deadline } = (await fixture.operation(id)) ?? {};
  assert.equal(deadline, fixture.clock.wallMs() + timeLimitMs - 20_000);
  await fixture.worker('new').start();
  await eventually(async () => {
    fixture.clock.advance(1_000);
    assert.equal(await fixture.stateOf(id), 'done');
  });
});

test('the worker returns to the step that the plan names if the earlier process ended in a later step', async (t) => {
  const runs: string[] = [];
  const steps = ['place', 'start', 'probe'].map((name) => ({ name, run: async () => void runs.push(name) }));
  const fixture = await Fixture.create(t, steps, 'start');
  const at = { early: 'place', late: 'probe' };
  for (const [id, step] of Object.entries(at)) {
    await fixture.cluster(id);
    const operation = await fixture.request(id);
    await fixture.operations.claim(operation, 'ended');
    await fixture.operations.record(operation, 'ended', { step });
    await fixture.worker(id).start();
    await eventually(async () => assert.equal(await fixture.stateOf(operation), 'done'));
  }
  assert.deepEqual(runs, ['place', 'start', 'probe', 'start', 'probe']);
});
