// Each code of the query service's errors, provoked through the service.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Cluster } from 'couchbase';
import { administrator, eventually } from '../support/node-process.ts';
import { type Account, QueryClient } from '../support/query-client.ts';
import {
  type Provocation,
  type ProvokedByTest,
  type Provoking,
  provocations,
} from '../support/query-refusals.ts';
import { RestartedNode } from '../support/restarted-node.ts';
import { connect } from '../support/sdk.ts';

const node = new RestartedNode('shop');
const reader = { username: 'reader', password: 'password' };
let cluster: Cluster;
let url = '';
const rows = (statement: string, parameters = {}) => node.queries.rows(statement, parameters);
const code = (statement: string, parameters = {}) => node.queries.code(statement, parameters);

before(async () => {
  await node.start();
  url = node.process.ready.node.query ?? '';
  cluster = await connect(`couchbase://${node.process.ready.node.kv}`, administrator);
  await rows('CREATE SCOPE shop.s');
  await rows('CREATE COLLECTION shop.s.c');
  await rows('CREATE INDEX ia ON shop(a)');
  await rows('UPSERT INTO shop (KEY, VALUE) VALUES ("k", {"a": 1}), ("k2", {"a": 2})');
  await rows('PREPARE p1 AS SELECT 1');
  await rows('CREATE FUNCTION twice(x) { x * 2 }');
  await rows('CREATE FUNCTION endless(x) { endless(x) }');
  await putUser({ roles: 'query_select[shop]' });
});
after(async () => {
  await cluster?.close();
  await node[Symbol.asyncDispose]();
});

async function putUser(fields: Record<string, string>): Promise<void> {
  const { username, password } = reader;
  const path = `/settings/rbac/users/local/${username}`;
  const { status } = await node.process.request(path, 'PUT', { password, ...fields });
  assert.equal(status, 200);
  const as = new QueryClient(url, reader);
  await eventually(async () => assert.equal(await as.code('SELECT 1'), 0));
}

const authorization = ({ username, password }: Account): string => `Basic ${btoa(`${username}:${password}`)}`;

async function send({ statement, parameters = {}, asReader }: Provoking): Promise<number[]> {
  const response = await fetch(`${url}/query/service`, {
    method: 'POST',
    headers: {
      authorization: authorization(asReader ? reader : administrator),
      'content-type': 'application/json',
    },
    body: JSON.stringify({ ...(statement !== undefined && { statement }), ...parameters }),
  });
  const { errors = [], warnings = [] } = (await response.json()) as {
    [Kind in 'errors' | 'warnings']?: { code: number }[];
  };
  return [...errors, ...warnings].map(({ code }) => code);
}

const isProvokedByTest = (provocation: Provocation): provocation is ProvokedByTest =>
  typeof provocation === 'object' && 'test' in provocation;

test('each declared code is provoked by its request', async (t) => {
  for (const [number, provocation] of Object.entries(provocations)) {
    if (isProvokedByTest(provocation)) continue;
    const request = typeof provocation === 'string' ? { statement: provocation } : provocation;
    await t.test(`${number}: ${request.statement ?? 'prepared'}`, async () => {
      const codes = await send(request);
      assert.ok(codes.includes(Number(number)), `answered ${codes}`);
    });
  }
});

test('each code that another test provokes is named in that test', () => {
  for (const [number, provocation] of Object.entries(provocations)) {
    if (!isProvokedByTest(provocation)) continue;
    const text = readFileSync(new URL(`../../${provocation.test}`, import.meta.url), 'utf8');
    assert.match(text, new RegExp(`\\b${number}\\b`), `${provocation.test} does not name ${number}`);
  }
});

test('a prepared name is refused with the plan of another statement, or of another query context', async () => {
  const prepare = async (text: string, parameters = {}) => {
    const [row] = (await rows(`PREPARE FORCE same AS ${text}`, parameters)) as { encoded_plan: string }[];
    return row?.encoded_plan ?? '';
  };
  const old = await prepare('SELECT 1');
  const execute = (encoded_plan: string, query_context?: string) =>
    send({ parameters: { prepared: 'same', encoded_plan, ...(query_context && { query_context }) } });
  assert.deepEqual(await execute(old), []);
  const current = await prepare('SELECT 2');
  assert.deepEqual(await execute(old), [4080]);
  assert.deepEqual(await execute(current), []);
  assert.deepEqual(await execute(current, 'default:shop.s'), [4091]);
});

test('limits of a user refuse requests, each with its code', async () => {
  const limited = new QueryClient(url, reader);
  const enforce = (on: boolean) =>
    node.process.request('/internalSettings', 'POST', { enforceLimits: String(on) });
  const limit = async (limits: Record<string, number>) => {
    await enforce(false);
    await putUser({ roles: 'query_select[shop]', limits: JSON.stringify({ query: limits }) });
    await enforce(true);
  };
  const meets = (expected: number, statement: string) =>
    eventually(async () => assert.equal(await limited.code(statement), expected));
  await limit({ num_queries_per_min: 1 });
  await meets(1192, 'SELECT 1');
  await limit({ ingress_mib_per_min: 1 });
  await meets(1193, `SELECT "${'x'.repeat(200_000)}" LIMIT 0`);
  await limit({ egress_mib_per_min: 1 });
  await meets(1194, 'SELECT REPEAT("x", 30000) FROM ARRAY_RANGE(0, 10) a');
  await limit({ num_concurrent_requests: 1 });
  const slow = limited.code(endless);
  await eventually(async () => assert.ok((await running()).includes(endless)));
  await meets(1191, 'SELECT 1');
  await cancel(endless);
  assert.equal(await slow, 5011);
  await enforce(false);
});

const many = 'ARRAY_RANGE(0, 10000)';
const endless = `SELECT COUNT(*) FROM ${many} a, ${many} b, ${many} c`;

const running = async (): Promise<string[]> =>
  (await rows('SELECT RAW statement FROM system:active_requests')) as string[];

const cancel = (statement: string) =>
  rows('DELETE FROM system:active_requests WHERE statement = $statement', { $statement: statement });

test('a transaction runs one statement at a time, queues a few, and is released by COMMIT', async () => {
  const settings = { method: 'POST', headers: { authorization: authorization(administrator) } };
  await fetch(`${url}/admin/settings`, { ...settings, body: JSON.stringify({ servicers: 2 }) });
  const within = await node.queries.begin();
  const slow = code(endless, within);
  await eventually(async () => assert.ok((await running()).includes(endless)));
  const commit = code('COMMIT', within);
  await eventually(async () => assert.ok((await running()).includes('COMMIT')));
  const queuedMax = 15;
  const queued = Array.from({ length: queuedMax }, (_, at) => code(`SELECT ${at}`, within));
  // These, the endless statement, the commit and the statement that counts.
  await eventually(async () => assert.equal((await running()).length, queuedMax + 3));
  assert.equal(await code('SELECT "too many"', within), 17021);
  assert.equal(
    await code('SELECT "another client"'),
    0,
    'waiting statements of a transaction hold places of the service',
  );
  await cancel(endless);
  assert.deepEqual([await slow, await commit], [5011, 0]);
  assert.deepEqual(new Set(await Promise.all(queued)), new Set([17011]));
});

test('a transaction refuses documents that changed since they were read, attributes, and too large documents', async () => {
  const within = await node.queries.begin();
  const changed = { ...within, args: ['shop', 'k', {}], txdata: { scas: '5' } };
  assert.equal(await code('EXECUTE __update', changed), 17015);
  assert.equal(await code('EXECUTE __delete', changed), 17015);
  assert.equal(await code('UPDATE shop USE KEYS "k" SET META().xattrs.a = 1', within), 17099);
  // The staged document is an attribute of the stored one: together they have at most 20 MiB.
  const collection = cluster.bucket('shop').scope('s').collection('c');
  await collection.upsert('large', { t: 'x'.repeat(14 << 20) });
  const $text = 'x'.repeat(9 << 20);
  assert.equal(await code('UPSERT INTO shop.s.c VALUES ("large", {"t": $text})', { ...within, $text }), 0);
  assert.equal(await code('COMMIT', within), 17020);
});

test('binary documents are not updated, and locked ones not flushed', async () => {
  const collection = cluster.bucket('shop').scope('s').collection('c');
  await collection.upsert('binary', Buffer.from([1, 2, 3]));
  assert.equal(await code('UPDATE shop.s.c USE KEYS "binary" SET a = 1'), 12030);
  await collection.upsert('locked', {});
  const { cas } = await collection.getAndLock('locked', 30);
  assert.equal(await code('FLUSH COLLECTION shop.s.c'), 12029);
  await collection.unlock('locked', cas);
  await rows('FLUSH COLLECTION shop.s.c');
});
