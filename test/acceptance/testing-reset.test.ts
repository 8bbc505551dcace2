// reset() of a node of divan/testing, driven with the official SDK: whatever a test did, everything that startNode() was asked for is there
// again, and nothing else.

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type Cluster, type Collection, LookupInSpec, MutateInSpec, QueryScanConsistency } from 'couchbase';
import { KvClient } from '../../src/client/kv.adapter.ts';
import { startNode, useNode } from '../../src/testing/testing.ts';
import type { StartNodeOptions } from '../../src/testing/types.ts';
import { portNumber } from '../support/addresses.ts';
import { eventually } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const options = {
  buckets: [
    {
      name: 'travel',
      scopes: [{ name: 'inventory', collections: ['airline', { name: 'session', maxTTL: 3600 }] }],
      documents: [
        { key: 'kept', value: { name: '40-Mile Air' }, scope: 'inventory', collection: 'airline' },
        { key: 'kept', value: { session: 1 }, scope: 'inventory', collection: 'session' },
        { key: 'one', value: 1 },
        { key: 'brief', value: 2, expiry: 100 },
      ],
    },
    { name: 'memory', type: 'ephemeral', documents: [{ key: 'one', value: 1 }] },
    { name: 'fast', type: 'memcached', documents: [{ key: 'one', value: 1 }] },
  ],
  users: [{ name: 'app', password: 'app-password', roles: ['data_reader[travel]', 'query_select[travel]'] }],
  statements: [
    'CREATE INDEX by_name ON travel.inventory.airline(name)',
    'INSERT INTO travel.inventory.airline VALUES ("stated", {"name": "Texas Wings"})',
  ],
} satisfies StartNodeOptions;

const used = useNode({ before, after, beforeEach }, options);
let cluster: Cluster;
/** Reads the memcached bucket, which the SDK does not support. */
let cache: KvClient;
let atStart: unknown;

before(async () => {
  const { addresses, connectionString, username, password } = await used.started;
  cache = await KvClient.open('127.0.0.1', portNumber(addresses.kv), 10_000);
  await cache.login(username, password);
  await cache.select('fast');
  cluster = await connect(connectionString, { username, password });
  atStart = await everything();
});
after(async () => {
  cache.close();
  await cluster.close();
});

const collection = (name = '_default', scope = '_default', bucket = 'travel'): Collection =>
  cluster.bucket(bucket).scope(scope).collection(name);

async function rest<T>(method: string, path: string, fields?: Record<string, string>): Promise<T> {
  const { addresses, username, password } = used.node;
  const answer = await fetch(`${addresses.rest}${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    ...(fields && { body: new URLSearchParams(fields) }),
  });
  const text = await answer.text();
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${text}`);
  return (text === '' ? null : JSON.parse(text)) as T;
}

async function rows(statement: string): Promise<unknown[]> {
  const options = { scanConsistency: QueryScanConsistency.RequestPlus };
  return (await cluster.query(statement, options)).rows;
}

const keyspaces = [
  'travel._default._default',
  'travel.inventory.airline',
  'travel.inventory.session',
  'memory._default._default',
];

interface Scope {
  name: string;
  collections: { name: string; maxTTL?: number }[];
}

/** What a test can see of a node, without ids and times. */
async function everything(): Promise<unknown> {
  const buckets = await rest<{ name: string; bucketType: string }[]>('GET', '/pools/default/buckets');
  const { scopes } = await rest<{ scopes: Scope[] }>('GET', '/pools/default/buckets/travel/scopes');
  const users = await rest<{ id: string; roles: unknown }[]>('GET', '/settings/rbac/users');
  const groups = await rest<{ id: string }[]>('GET', '/settings/rbac/groups');
  const { indexes } = await rest<{ indexes: Record<string, string>[] }>('GET', '/indexStatus');
  const documents: unknown[] = [];
  for (const keyspace of keyspaces) {
    const selected = 'META(d).id, META(d).expiration > 0 AS expires, d';
    documents.push(await rows(`SELECT ${selected} FROM ${keyspace} d ORDER BY META(d).id`));
  }
  return {
    buckets: buckets.map(({ name, bucketType }) => [name, bucketType]).sort(),
    scopes: scopes
      .filter(({ name }) => name !== '_system')
      .map(({ name, collections }) => [
        name,
        collections.map((definition) => `${definition.name} ${definition.maxTTL ?? 0}`).sort(),
      ])
      .sort(),
    users: users.map(({ id, roles }) => [id, roles]),
    groups: groups.map(({ id }) => id),
    indexes: indexes.map(({ index, definition, status }) => [index, definition, status]),
    documents,
    cached: [(await cache.get(0, 'one')).value.toString(), (await cache.get(0, 'two')).status],
  };
}

const resetRestores = (title: string, change: () => Promise<unknown>): void => {
  test(`reset restores everything after ${title}`, async () => {
    await change();
    await used.node.reset();
    assert.deepEqual(await everything(), atStart);
  });
};

resetRestores('nothing', async () => {});

resetRestores('documents that were added, changed, removed and touched', async () => {
  const airline = collection('airline', 'inventory');
  await airline.upsert('new', { a: 1 });
  await airline.upsert('kept', 'changed', { expiry: 50 });
  await airline.remove('stated');
  await collection().remove('one');
  await collection().touch('brief', 0);
  await collection('session', 'inventory').replace('kept', { session: 2 });
  const memory = collection('_default', '_default', 'memory');
  await memory.upsert('two', 2);
  await memory.remove('one');
  for (const key of ['one', 'two']) await cache.set({ collectionId: 0, key }, Buffer.from('2'), 0, 1_000);
});

resetRestores('2,000 documents', async () => {
  const { mutationCount } = (
    await cluster.query(
      'INSERT INTO travel (KEY UUID(), VALUE {"n": n}) SELECT n FROM ARRAY_RANGE(0, 2000) AS n',
      { metrics: true },
    )
  ).meta.metrics as { mutationCount: number };
  assert.equal(mutationCount, 2000);
});

resetRestores('attributes and a binary value in place of JSON', async () => {
  const airline = collection('airline', 'inventory');
  await airline.mutateIn('kept', [MutateInSpec.upsert('mine', 1, { xattr: true })] as never);
  await airline.mutateIn('stated', [MutateInSpec.upsert('_system', 1, { xattr: true })] as never);
  await collection().upsert('one', Buffer.from([0, 1, 2]));
  await used.node.reset();
  for (const [key, path] of [
    ['kept', 'mine'],
    ['stated', '_system'],
  ] as const) {
    const { content } = await airline.lookupIn(key, [LookupInSpec.exists(path, { xattr: true })]);
    assert.equal(content[0]?.value, false, `${path} of ${key}`);
  }
});

resetRestores('documents that the test locked', async () => {
  await collection().getAndLock('one', 30);
  await collection('airline', 'inventory').upsert('new', 1);
  await collection('airline', 'inventory').getAndLock('new', 30);
});

resetRestores('a flush', async () => {
  await rest('POST', '/pools/default/buckets/travel', { flushEnabled: '1' });
  await rest('POST', '/pools/default/buckets/travel/controller/doFlush');
  await rest('POST', '/pools/default/buckets/travel', { flushEnabled: '0' });
});

resetRestores('collections that were added, dropped, changed and made again', async () => {
  const scopes = '/pools/default/buckets/travel/scopes';
  await rest('POST', scopes, { name: 'extra' });
  await rest('POST', `${scopes}/extra/collections`, { name: 'c' });
  await rest('DELETE', `${scopes}/inventory/collections/session`);
  await rest('DELETE', `${scopes}/inventory/collections/airline`);
  await rest('POST', `${scopes}/inventory/collections`, { name: 'airline' });
  await eventually(() => collection('airline', 'inventory').upsert('other', 1));
});

resetRestores('a bucket that was deleted, one made again, and one more', async () => {
  await rest('DELETE', '/pools/default/buckets/travel');
  await rest('DELETE', '/pools/default/buckets/memory');
  await rest('POST', '/pools/default/buckets', {
    name: 'memory',
    bucketType: 'couchbase',
    ramQuotaMB: '100',
    replicaNumber: '0',
  });
  await rest('POST', '/pools/default/buckets', { name: 'more', ramQuotaMB: '100', replicaNumber: '0' });
});

resetRestores('users and groups that were added, changed and deleted', async () => {
  await rest('PUT', '/settings/rbac/groups/team', { roles: 'admin' });
  await rest('PUT', '/settings/rbac/users/local/other', { password: 'other-password', roles: 'admin' });
  await rest('PUT', '/settings/rbac/users/local/app', { password: 'changed-password', roles: 'admin' });
});

test('reset restores the password of a user', async () => {
  await rest('PUT', '/settings/rbac/users/local/app', { password: 'changed-password', roles: '' });
  await used.node.reset();
  const answer = await fetch(`${used.node.addresses.rest}/whoami`, {
    headers: { authorization: `Basic ${Buffer.from('app:app-password').toString('base64')}` },
  });
  assert.equal(answer.status, 200);
});

resetRestores('indexes that were added and dropped', async () => {
  await cluster.query('CREATE PRIMARY INDEX ON travel');
  await cluster.query('DROP INDEX by_name ON travel.inventory.airline');
});

test('reset restores a document that has expired, and its time to live begins again', async () => {
  const brief = collection();
  const resetAfterExpiry = async () => {
    await brief.touch('brief', 1);
    await eventually(() => assert.rejects(brief.get('brief'), /document not found/));
    const beganSeconds = Math.floor(Date.now() / 1000);
    await used.node.reset();
    const endedSeconds = Math.ceil(Date.now() / 1000);
    const { content, expiryTime = 0 } = await brief.get('brief', { withExpiry: true });
    assert.equal(content, 2);
    return { beganSeconds, endedSeconds, expiryTime };
  };
  const first = await resetAfterExpiry();
  const second = await resetAfterExpiry();
  assert.ok(first.expiryTime <= first.endedSeconds + 100, JSON.stringify(first));
  const laterBy = second.expiryTime - first.expiryTime;
  assert.ok(laterBy >= second.beganSeconds - first.endedSeconds, JSON.stringify({ first, second }));
  assert.ok(laterBy > 0 && laterBy <= second.endedSeconds - first.beganSeconds);
});

test('calls of reset at the same time run one after the other', async () => {
  await collection().upsert('new', 1);
  await Promise.all([used.node.reset(), used.node.reset(), used.node.reset()]);
  assert.deepEqual(await everything(), atStart);
});

test('reset of a stopped node fails with that reason', async () => {
  const node = await startNode();
  await node.stop();
  await assert.rejects(node.reset(), /the node has ended/);
});

test('hooks of Vitest and Jest get the time that a start may take', () => {
  const times: (number | undefined)[] = [];
  const register = (_run: () => Promise<void>, timeoutMs?: number) => times.push(timeoutMs);
  useNode({ beforeAll: register, afterAll: register, beforeEach: register }, { startMs: 60_000 });
  assert.deepEqual(times, [65_000, undefined, 65_000]);
});

test('hooks that are missing are named', () => {
  assert.throws(() => useNode({ before, beforeEach }), /useNode: after \(or afterAll\) is missing/);
  assert.throws(() => useNode({ after, beforeEach }), /useNode: before \(or beforeAll\) is missing/);
});
