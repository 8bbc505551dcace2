import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { deferred } from '#base/deferred.ts';
import { realRandom } from '#ports/random.ts';
import { aUsersService, newUser } from '../../../test/support/users-service.ts';
import { accessEntriesMax, DatabaseUsersService, usersMax } from './database-users.service.ts';

const minuteMs = 60_000;

test('the service of database users creates a user once, also if two servers get the request at the same time', async (t) => {
  const { node, cluster, server } = await aUsersService(t);
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
  const { store, node, cluster, server } = await aUsersService(t);
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

test('the service of database users limits the access entries of all users together', async (t) => {
  const { store, cluster, server } = await aUsersService(t);
  const users = server();
  const entry = { bucketName: 'b', bucketAccess: ['data_reader' as const] };
  await users.create(cluster, newUser);
  const access = JSON.stringify(Array.from({ length: accessEntriesMax - 1 }, () => entry));
  const many = { cluster_id: 'c', username: 'many', user_id: 'many', access, created_at: 0 };
  await store.insertInto('database_users').values(many).execute();
  const other = { ...newUser, username: 'other', access: [entry, entry] };
  const tooMany =
    /^.*buckets: the users of cluster c would have 20001 entries of access in all, and can have/;
  await assert.rejects(users.create(cluster, other), tooMany);
  await assert.rejects(users.update(cluster, 'u', { access: [entry, entry] }), tooMany);
  await users.update(cluster, 'u', { access: [entry] });
  // A cluster of an earlier version may have more than the limit.
  await store
    .insertInto('database_users')
    .values({ ...many, username: 'more' })
    .execute();
  await users.update(cluster, 'u', { password: 'new', access: [entry] });
  await assert.rejects(users.create(cluster, { ...other, access: [entry] }), /would have 40000 entries/);
});

test('the removal of access keeps the changes that another server stores at the same time', async (t) => {
  const { store, cluster, clock, unconfirmed, server } = await aUsersService(t);
  const access = (...names: string[]) =>
    names.map((bucketName) => ({ bucketName, bucketAccess: ['data_reader' as const] }));
  const other = server();
  await other.create(cluster, { ...newUser, access: access('b') });
  let reads = 0;
  const slowStore = store.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      // After the list of users and the user of this removal were read.
      if (++reads === 2) await other.update(cluster, 'u', { access: access('b', 'B') });
      return result;
    },
  });
  const removing = new DatabaseUsersService({ store: slowStore, unconfirmed, clock, random: realRandom });
  await removing.removeBucketAccess(cluster, 'b');
  assert.deepEqual((await other.list(cluster))[0]?.access, access('B'));
});

test('the service of database users deletes the row of a user whose creation failed at the node', async (t) => {
  const { node, cluster, server } = await aUsersService(t);
  node.before = () => Promise.reject(new Error('no'));
  const users = server();
  await assert.rejects(users.create(cluster, newUser), /no/);
  assert.deepEqual(await users.list(cluster), []);
});

test('the service of database users creates a user again whose creation was interrupted, unless the node has the user', async (t) => {
  const { store, node, cluster, clock, server } = await aUsersService(t);
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
  const { store, node, cluster, server } = await aUsersService(t);
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
  const { node, cluster, server } = await aUsersService(t);
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

test('the service of database users deletes a user after its creation has ended, so that none is left at the node', async (t) => {
  const { store, node, cluster, server } = await aUsersService(t);
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
  const { cluster, server } = await aUsersService(t);
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
  const { node, cluster, server } = await aUsersService(t);
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
