import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { deferred } from '#base/deferred.ts';
import { type Log, silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { aUsersService, newUser, passTime } from '../../../test/support/users-service.ts';
import { UnresponsiveNodeError } from '../node-client/refusals.ts';
import { DatabaseUsersService } from './database-users.service.ts';
import { UnconfirmedUserChanges } from './unconfirmed-user-changes.ts';

const minuteMs = 60_000;

test('after a stall a node has the users that the cloud stores, also if it applies older requests late', async (t) => {
  const { store, node, cluster, clock, unconfirmed, server } = await aUsersService(t);
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
  await passTime(clock, minuteMs + 4_000);
  const applyLate = (): void => {
    node.roles.set('u', '').set('changed', 'data_writer[b]').delete('deleted');
  };
  applyLate();
  node.before = async () => {};
  await passTime(clock, 4_000);
  assert.deepEqual([...node.roles], [['changed', 'data_reader[b]']]);
  applyLate();
  await passTime(clock, 40_000);
  assert.deepEqual([...node.roles], [['changed', 'data_reader[b]']]);
  assert.deepEqual(
    (await users.list(cluster)).map(({ username }) => username),
    ['changed'],
  );
  assert.deepEqual(await store.selectFrom('user_doubts').selectAll().execute(), []);
});

test('a node gets the stored access again after the store failed to write a change', async (t) => {
  const { store, node, cluster, clock, unconfirmed, server } = await aUsersService(t);
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
  await passTime(clock, 34_000);
  assert.deepEqual([...node.roles], [['u', 'data_reader[b]']]);
  assert.deepEqual(
    (await users.list(cluster)).map(({ username }) => username),
    ['u'],
  );
  assert.deepEqual(await store.selectFrom('user_doubts').selectAll().execute(), []);
});

test('the cloud leaves the same access at the node and in the list if two servers change a user at the same time', async (t) => {
  const { store, node, cluster, clock, unconfirmed, server } = await aUsersService(t);
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
  await passTime(clock, 4_000);
  assert.deepEqual([...node.roles], [['u', 'data_reader[b]']]);

  // A new password is sent with the access that is stored at the time.
  await passTime(clock, 40_000);
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
  await passTime(clock, 4_000);
  assert.deepEqual([...node.roles], [['u', 'data_writer[b]']]);
});

test('the cloud keeps a user that another server creates while this one deletes an earlier user of the name', async (t) => {
  const { node, cluster, server } = await aUsersService(t);
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
  const { clock, unconfirmed, row } = await aUsersService(t);
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
  await passTime(clock, 2_000);
  assert.deepEqual(begun, ['a']);
  isDead = false;
  await passTime(clock, 2_000);
  assert.deepEqual(begun, ['a', 'a']);
  gate.resolve();
  await passTime(clock, 2_000);
  assert.deepEqual(begun, ['a', ...names]);
});

test('confirms a limited number of users of each of several clusters at a time', async (t) => {
  const { store, clock, unconfirmed, row } = await aUsersService(t);
  const clusters = ['many', ...Array.from({ length: 40 }, (_, i) => `c${i}`)];
  await store
    .insertInto('clusters')
    .values(clusters.map((id) => aClusterRow({ id, name: id, phase: 'ready', home: row.home })))
    .execute();
  for (const id of clusters) await unconfirmed.note(id, 'u');
  const users = Array.from({ length: 119 }, (_, i) => ({
    cluster_id: 'many',
    username: `u${i}`,
    told_at: null,
  }));
  await store.insertInto('user_doubts').values(users).execute();
  let [confirmed, most, running] = [0, 0, 0];
  unconfirmed.start(async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    confirmed++;
  });
  t.after(() => unconfirmed.stop());
  clock.advance(2_000);
  for (let turn = 0; turn < 5_000; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([confirmed, most], [140, 32]);
  clock.advance(2_000);
  for (let turn = 0; turn < 1_000; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(confirmed, 160);
});

test('the cloud forgets the unconfirmed changes of a deleted cluster', async (t) => {
  const { store, clock, unconfirmed } = await aUsersService(t);
  await unconfirmed.note('deleted', 'u');
  unconfirmed.start(() => Promise.reject(new Error('there is no such cluster')));
  t.after(() => unconfirmed.stop());
  await passTime(clock, 2_000);
  assert.deepEqual(await store.selectFrom('user_doubts').selectAll().execute(), []);
});

test('the service of database users retries a user that a node refuses at growing intervals, and gives up with the reason', async (t) => {
  const { store, node, cluster, clock, server, row } = await aUsersService(t);
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
  await passTime(clock, 600_000);
  assert.equal(attempts.length, 8);
  assert.ok((attempts[7] as number) - (attempts[0] as number) > 200_000);
  assert.deepEqual([events, await rows()], [['user.change_given_up'], []]);
  // The next change starts without earlier refusals.
  node.refused = '';
  await unconfirmed.note(row.id, 'u');
  await passTime(clock, 40_000);
  assert.deepEqual([attempts.length, await rows()], [10, []]);
});

test('users lose the access to a bucket whose deletion the node did not answer, once the bucket is gone', async (t) => {
  const { node, cluster, clock, unconfirmed, server } = await aUsersService(t);
  const users = server();
  const access = (bucketName: string) => ({ bucketName, bucketAccess: ['data_reader' as const] });
  await users.create(cluster, { ...newUser, access: [access('b'), access('*')] });
  unconfirmed.start((_row, username) => users.confirm(cluster, username));
  t.after(() => unconfirmed.stop());
  await users.bucketDeletionUnconfirmed(cluster, 'b');
  await passTime(clock, 4_000);
  assert.equal((await users.list(cluster))[0]?.access.length, 2, 'the bucket is still there');
  node.buckets = [];
  await passTime(clock, 40_000);
  assert.deepEqual((await users.list(cluster))[0]?.access, [access('*')]);
  assert.deepEqual([...node.roles], [['u', 'data_reader[*]']]);
});

test('the service of database users deletes a user whose creation the node answered with an error of its own, once the node accepts the deletion', async (t) => {
  const { store, node, cluster, server } = await aUsersService(t);
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
