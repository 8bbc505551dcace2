import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { deferred } from '#base/deferred.ts';
import type { RestReply } from '#client/rest.adapter.ts';
import { type Log, silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ReadyCluster } from '../clusters/ready-cluster.ts';
import { UnresponsiveNodeError } from '../node-client/refusals.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import { DatabaseUsersService, usersMax } from './database-users.service.ts';
import { UnconfirmedUserChanges } from './unconfirmed-user-changes.ts';

const minuteMs = 60_000;
const newUser = { username: 'u', password: 'p', access: [] };

/** A node that stores the roles of users by name; `before` runs before each answer. */
class FakeNode {
  readonly roles = new Map<string, string>();
  before: (method: string) => Promise<void> = async () => {};
  /** Runs after the node applied a request, before its answer arrives. */
  answered: () => Promise<void> = async () => {};
  /** The status of an answer that says neither that the request was applied nor that it was not. */
  errorStatus: number | null = null;
  /** The user whose changes the node refuses. */
  refused = '';
  /** The buckets of the node, which refuses roles of others. */
  buckets: readonly string[] = ['b', 'B'];

  async request(): Promise<string> {
    return JSON.stringify(this.buckets.map((name) => ({ name })));
  }

  async send(method: string, path: string, fields?: { roles: string }): Promise<RestReply> {
    await this.before(method);
    const name = path.split('/').at(-1) as string;
    if (this.errorStatus !== null && method === 'DELETE')
      return { status: this.errorStatus, body: 'not now' };
    const named = Array.from((fields?.roles ?? '').matchAll(/\[(\w+)\]/g), ([, bucket]) => bucket as string);
    if (name === this.refused || !named.every((bucket) => this.buckets.includes(bucket)))
      return { status: 400, body: '{"errors":{"roles":"no such bucket"}}' };
    if (method === 'PUT') this.roles.set(name, fields?.roles ?? '');
    else if (!this.roles.has(name)) return { status: 404, body: '' };
    if (method === 'DELETE') this.roles.delete(name);
    await this.answered();
    return {
      status: this.errorStatus ?? 200,
      body: this.errorStatus === null ? '' : 'The change may be lost',
    };
  }
}

async function aService(t: TestContext) {
  const { store } = openSqlite(':memory:');
  t.after(() => store.destroy());
  await migrate(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const row = aClusterRow({ phase: 'ready' });
  await store.insertInto('clusters').values(row).execute();
  const node = new FakeNode();
  const cluster = { row, client: node } as unknown as ReadyCluster;
  const clock = new ManualClock();
  const unconfirmed = new UnconfirmedUserChanges({ store, home: row.home, clock, log: silentLog });
  const server = () => new DatabaseUsersService({ store, unconfirmed, clock, random: realRandom });
  return { store, node, cluster, clock, unconfirmed, server, row };
}

test('the service of database users creates a user once, also if two servers get the request at the same time', async (t) => {
  const { node, cluster, server } = await aService(t);
  const gate = deferred<void>();
  node.before = () => gate.promise;
  const first = server().create(cluster, newUser);
  const second = server().create(cluster, newUser);
  await assert.rejects(second, /has a user "u" already/);
  gate.resolve();
  await first;
  assert.deepEqual([...node.roles.keys()], ['u']);
});

test('the service of database users creates users up to the limit of a cluster, and another after one was deleted', async (t) => {
  const { store, node, cluster, server } = await aService(t);
  const users = Array.from({ length: usersMax - 1 }, (_, i) => ({
    cluster_id: 'c',
    username: `u${i}`,
    user_id: `u${i}`,
    access: '[]',
    created_at: 0,
  }));
  await store.insertInto('database_users').values(users).execute();
  await server().create(cluster, newUser);
  await assert.rejects(
    server().create(cluster, { ...newUser, username: 'more' }),
    /has 1000 users.*delete others first/,
  );
  assert.deepEqual([...node.roles.keys()], ['u']);
  await server().delete(cluster, 'u');
  await server().create(cluster, { ...newUser, username: 'more' });
});

test('the service of database users deletes the row of a user whose creation failed at the node', async (t) => {
  const { node, cluster, server } = await aService(t);
  node.before = () => Promise.reject(new Error('no'));
  const users = server();
  await assert.rejects(users.create(cluster, newUser), /no/);
  assert.deepEqual(await users.list(cluster), []);
});

test('the service of database users creates a user again whose creation was interrupted, unless the node has the user', async (t) => {
  const { store, node, cluster, clock, server } = await aService(t);
  const users = server();
  const interrupted = { username: 'u', user_id: 'old', access: '[]', created_at: clock.wallMs() };
  await store
    .insertInto('database_users')
    .values({ cluster_id: 'c', ...interrupted })
    .execute();
  await assert.rejects(users.create(cluster, newUser), /already/);
  clock.advance(minuteMs);
  await users.create(cluster, newUser);
  assert.notEqual((await users.list(cluster))[0]?.userId, 'old');
  clock.advance(minuteMs);
  await assert.rejects(users.create(cluster, newUser), /already/);
  assert.deepEqual([...node.roles.keys()], ['u']);
});

test('the service of database users changes a password alone without a write to its store, which may be full', async (t) => {
  const { store, node, cluster, server } = await aService(t);
  const users = server();
  const access = [{ bucketName: 'b', bucketAccess: ['data_reader' as const] }];
  await users.create(cluster, { ...newUser, access });
  await sql`create trigger refuse before update on database_users begin select raise(abort, 'full'); end`.execute(
    store,
  );
  await users.update(cluster, 'u', { password: 'another', access: null });
  assert.deepEqual([...node.roles], [['u', 'data_reader[b]']]);
  await assert.rejects(users.update(cluster, 'u', { access: [] }), /full/);
});

test('the service of database users leaves the same access at the node and in the list, whatever the order of the node’s answers', async (t) => {
  const { node, cluster, server } = await aService(t);
  const users = server();
  await users.create(cluster, newUser);
  const slow = deferred<void>();
  const gates = [slow.promise, Promise.resolve()];
  node.before = () => gates.shift() ?? Promise.resolve();
  const access = (role: 'data_reader' | 'data_writer') => [{ bucketName: 'b', bucketAccess: [role] }];
  const changes = [
    users.update(cluster, 'u', { access: access('data_reader') }),
    users.update(cluster, 'u', { access: access('data_writer') }),
  ];
  // Enough turns for the second update to end if it did not wait for the first.
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  slow.resolve();
  await Promise.all(changes);
  assert.equal(node.roles.get('u'), 'data_writer[b]');
  assert.deepEqual((await users.list(cluster))[0]?.access, access('data_writer'));
});

test('after a stall a node has the users that the cloud stores, also if it applies older requests late', async (t) => {
  const { store, node, cluster, clock, unconfirmed, server } = await aService(t);
  const users = server();
  const reader = [{ bucketName: 'b', bucketAccess: ['data_reader' as const] }];
  const writer = [{ bucketName: 'b', bucketAccess: ['data_writer' as const] }];
  await users.create(cluster, { ...newUser, username: 'changed', access: reader });
  await users.create(cluster, { ...newUser, username: 'deleted' });
  node.before = () => Promise.reject(new Error('the node is stalled'));
  const answers = await Promise.allSettled([
    users.create(cluster, newUser),
    users.update(cluster, 'changed', { access: writer }),
    users.delete(cluster, 'deleted'),
  ]);
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], ['rejected']);
  unconfirmed.start((_row, username) => users.confirm(cluster, username));
  t.after(() => unconfirmed.stop());
  await pass(clock, minuteMs + 4_000);
  const applyLate = (): void => {
    node.roles.set('u', '').set('changed', 'data_writer[b]').delete('deleted');
  };
  applyLate();
  node.before = async () => {};
  await pass(clock, 4_000);
  assert.deepEqual([...node.roles], [['changed', 'data_reader[b]']]);
  applyLate();
  await pass(clock, 40_000);
  assert.deepEqual([...node.roles], [['changed', 'data_reader[b]']]);
  assert.deepEqual(
    (await users.list(cluster)).map(({ username }) => username),
    ['changed'],
  );
  assert.deepEqual(await store.selectFrom('user_doubts').selectAll().execute(), []);
});

/** Advances the clock by a second at a time, and lets pending work of the service run in between. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let past = 0; past < ms; past += 1_000) {
    clock.advance(1_000);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a node gets the stored access again after the store failed to write a change', async (t) => {
  const { store, node, cluster, clock, unconfirmed, server } = await aService(t);
  const users = server();
  const access = [{ bucketName: 'b', bucketAccess: ['data_reader' as const] }];
  await users.create(cluster, { ...newUser, access });
  await users.create(cluster, { ...newUser, username: 'deleted', access });
  clock.advance(minuteMs);
  for (const change of ['update', 'delete'])
    await sql`create trigger ${sql.raw(`no_${change}`)} before ${sql.raw(change)} on database_users begin select raise(abort, 'full'); end`.execute(
      store,
    );
  await assert.rejects(users.update(cluster, 'u', { access: [] }), /full/);
  await assert.rejects(users.delete(cluster, 'deleted'), /full/);
  assert.deepEqual([...node.roles], [['u', '']]);
  for (const change of ['update', 'delete'])
    await sql`drop trigger ${sql.raw(`no_${change}`)}`.execute(store);
  unconfirmed.start((_row, username) => users.confirm(cluster, username));
  t.after(() => unconfirmed.stop());
  await pass(clock, 34_000);
  assert.deepEqual([...node.roles], [['u', 'data_reader[b]']]);
  assert.deepEqual(
    (await users.list(cluster)).map(({ username }) => username),
    ['u'],
  );
  assert.deepEqual(await store.selectFrom('user_doubts').selectAll().execute(), []);
});

test('leaves the same access at the node and in the list if two servers change a user at the same time', async (t) => {
  const { store, node, cluster, clock, unconfirmed, server } = await aService(t);
  const home = server();
  await home.create(cluster, newUser);
  const elsewhere = new UnconfirmedUserChanges({ store, home: 'elsewhere', clock, log: silentLog });
  const other = new DatabaseUsersService({ store, unconfirmed: elsewhere, clock, random: realRandom });
  const access = (role: 'data_reader' | 'data_writer') => [{ bucketName: 'b', bucketAccess: [role] }];
  const gate = deferred<void>();
  const begun = deferred<void>();
  node.answered = () => {
    begun.resolve();
    return gate.promise;
  };
  const change = other.update(cluster, 'u', { access: access('data_reader') });
  await begun.promise;
  node.answered = async () => {};
  await home.update(cluster, 'u', { access: access('data_writer') });
  gate.resolve();
  await change;
  assert.deepEqual((await home.list(cluster))[0]?.access, access('data_reader'));
  unconfirmed.start((_row, username) => home.confirm(cluster, username));
  t.after(() => unconfirmed.stop());
  await pass(clock, 4_000);
  assert.deepEqual([...node.roles], [['u', 'data_reader[b]']]);

  // A new password is sent with the access that is stored at the time.
  await pass(clock, 40_000);
  const late = deferred<void>();
  const sent = deferred<void>();
  node.before = () => {
    sent.resolve();
    return late.promise;
  };
  const password = home.update(cluster, 'u', { password: 'new', access: null });
  await sent.promise;
  node.before = async () => {};
  await other.update(cluster, 'u', { access: access('data_writer') });
  late.resolve();
  await password;
  await pass(clock, 4_000);
  assert.deepEqual([...node.roles], [['u', 'data_writer[b]']]);
});

test('keeps a user that another server creates while this one deletes an earlier user of the name', async (t) => {
  const { node, cluster, server } = await aService(t);
  const users = server();
  await users.create(cluster, newUser);
  const gate = deferred<void>();
  const begun = deferred<void>();
  node.answered = () => {
    begun.resolve();
    return gate.promise;
  };
  const deletion = users.delete(cluster, 'u');
  await begun.promise;
  node.answered = async () => {};
  const other = server();
  await other.delete(cluster, 'u');
  await other.create(cluster, newUser);
  gate.resolve();
  await deletion;
  assert.deepEqual(
    [(await users.list(cluster)).map(({ username }) => username), [...node.roles.keys()]],
    [['u'], ['u']],
  );
});

test('confirms the users of a cluster one after the other, and asks a node that does not answer once a check', async (t) => {
  const { clock, unconfirmed, row } = await aService(t);
  const names = ['a', 'b', 'c'];
  for (const name of names) await unconfirmed.note(row.id, name);
  const begun: string[] = [];
  const gate = deferred<void>();
  let isDead = true;
  unconfirmed.start(async (_row, username) => {
    begun.push(username);
    if (isDead) throw new UnresponsiveNodeError('stalled');
    await gate.promise;
  });
  t.after(() => unconfirmed.stop());
  await pass(clock, 2_000);
  assert.deepEqual(begun, ['a']);
  isDead = false;
  await pass(clock, 2_000);
  assert.deepEqual(begun, ['a', 'a']);
  gate.resolve();
  await pass(clock, 2_000);
  assert.deepEqual(begun, ['a', ...names]);
});

test('forgets the unconfirmed changes of a deleted cluster', async (t) => {
  const { store, clock, unconfirmed } = await aService(t);
  await unconfirmed.note('deleted', 'u');
  unconfirmed.start(() => Promise.reject(new Error('there is no such cluster')));
  t.after(() => unconfirmed.stop());
  await pass(clock, 2_000);
  assert.deepEqual(await store.selectFrom('user_doubts').selectAll().execute(), []);
});

test('the service of database users retries a user that a node refuses at growing intervals, and gives up with the reason', async (t) => {
  const { store, node, cluster, clock, server, row } = await aService(t);
  const users = server();
  await users.create(cluster, newUser);
  const events: string[] = [];
  const log: Log = { ...silentLog, error: (event) => void events.push(event), child: () => log };
  const unconfirmed = new UnconfirmedUserChanges({ store, home: row.home, clock, log });
  const attempts: number[] = [];
  node.refused = 'u';
  unconfirmed.start((_row, username) => {
    attempts.push(clock.monotonicMs());
    return users.confirm(cluster, username);
  });
  t.after(() => unconfirmed.stop());
  const rows = () => store.selectFrom('user_doubts').selectAll().execute();
  await unconfirmed.note(row.id, 'u');
  await pass(clock, 600_000);
  assert.equal(attempts.length, 8);
  assert.ok((attempts[7] as number) - (attempts[0] as number) > 200_000);
  assert.deepEqual([events, await rows()], [['user.change_given_up'], []]);
  // The next change starts without earlier refusals.
  node.refused = '';
  await unconfirmed.note(row.id, 'u');
  await pass(clock, 40_000);
  assert.deepEqual([attempts.length, await rows()], [10, []]);
});

test('users lose the access to a bucket whose deletion the node did not answer, once the bucket is gone', async (t) => {
  const { node, cluster, clock, unconfirmed, server } = await aService(t);
  const users = server();
  const access = (bucketName: string) => ({ bucketName, bucketAccess: ['data_reader' as const] });
  await users.create(cluster, { ...newUser, access: [access('b'), access('*')] });
  unconfirmed.start((_row, username) => users.confirm(cluster, username));
  t.after(() => unconfirmed.stop());
  await users.bucketDeletionUnconfirmed(cluster, 'b');
  await pass(clock, 4_000);
  assert.equal((await users.list(cluster))[0]?.access.length, 2, 'the bucket is still there');
  node.buckets = [];
  await pass(clock, 40_000);
  assert.deepEqual((await users.list(cluster))[0]?.access, [access('*')]);
  assert.deepEqual([...node.roles], [['u', 'data_reader[*]']]);
});

test('the service of database users deletes a user whose creation the node answered with an error of its own, once the node accepts the deletion', async (t) => {
  const { store, node, cluster, server } = await aService(t);
  const users = server();
  node.errorStatus = 503;
  await assert.rejects(users.create(cluster, newUser), /503: The change may be lost/);
  const unconfirmed = await store.selectFrom('user_doubts').selectAll().execute();
  const unconfirmedNames = unconfirmed.map(({ username }) => username);
  assert.deepEqual([unconfirmedNames, [...node.roles.keys()]], [['u'], ['u']]);
  await assert.rejects(users.confirm(cluster, 'u'), /503: not now/);
  node.errorStatus = null;
  await users.confirm(cluster, 'u');
  assert.deepEqual([...node.roles], []);
  await users.confirm(cluster, 'u');
});

test('the service of database users deletes a user after its creation has ended, so that none is left at the node', async (t) => {
  const { store, node, cluster, server } = await aService(t);
  const gate = deferred<void>();
  const begun = deferred<void>();
  node.before = async (method) => {
    if (method !== 'PUT') return;
    begun.resolve();
    await gate.promise;
  };
  const service = server();
  const creation = service.create(cluster, newUser);
  await begun.promise;
  const deletion = service.delete(cluster, newUser.username);
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  gate.resolve();
  await Promise.all([creation, deletion]);
  const rows = await store.selectFrom('database_users').selectAll().execute();
  assert.deepEqual([rows, [...node.roles.keys()]], [[], []]);
});

test('the service of database users deletes the access to a deleted bucket from users of that cluster, but not access to all buckets or to others', async (t) => {
  const { cluster, server } = await aService(t);
  const users = server();
  const access = ['*', 'b', 'B'].map((bucketName) => ({
    bucketName,
    bucketAccess: ['data_reader' as const],
  }));
  await users.create(cluster, { ...newUser, access });
  await users.removeBucketAccess(cluster, '*');
  await users.removeBucketAccess({ ...cluster, row: { ...cluster.row, id: 'other' } }, 'b');
  assert.deepEqual((await users.list(cluster))[0]?.access, access);
  await users.removeBucketAccess(cluster, 'b');
  assert.deepEqual((await users.list(cluster))[0]?.access, [access[0], access[2]]);
});

test('the service of database users gives the roles of the query service to each user, except to those whose access the node refuses', async (t) => {
  const { node, cluster, server } = await aService(t);
  const users = server();
  const access = [{ bucketName: 'b', bucketAccess: ['data_reader' as const] }];
  for (const username of ['refused', 'u', 'v']) await users.create(cluster, { ...newUser, username, access });
  const spec = JSON.stringify({ servers: [{ services: ['data', 'query'] }] });
  const withQuery = { ...cluster, row: { ...cluster.row, spec } };
  const { signal } = new AbortController();
  await users.applyRoles(cluster, signal);
  node.refused = 'refused';
  node.errorStatus = 503;
  await assert.rejects(users.applyRoles(withQuery, signal), /503/);
  node.errorStatus = null;
  await users.applyRoles(withQuery, signal);
  const both = 'data_reader[b],query_select[b]';
  assert.deepEqual(
    [...node.roles],
    [
      ['refused', 'data_reader[b]'],
      ['u', both],
      ['v', both],
    ],
  );
  await assert.rejects(users.applyRoles(withQuery, AbortSignal.abort(new Error('replaced'))), /replaced/);
});
