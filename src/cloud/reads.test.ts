// Cached reads: never older than the store, never another caller's, never for credentials that are no longer valid.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { aCloud } from '../../test/support/a-cloud.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { signatureOf, timestampHeader } from './access/signature.ts';
import { type TokenRequest, TokenStore } from './access/tokens.store.ts';
import { ClusterNodes } from './clusters/cluster-nodes.ts';
import type { Operation } from './http/operation.ts';

async function aTestCloud(t: TestContext, change: Parameters<typeof aCloud>[0] = {}) {
  const clock = new ManualClock();
  const parts = await aCloud({ clock, ...change });
  t.after(() => parts.cloud.stop());
  const tokens = new TokenStore(parts);
  const issue = (wanted: Partial<TokenRequest>) =>
    tokens.issue({ role: 'reader', projectId: null, origin: 'operator', expiresAt: null, ...wanted });
  const project = (id: string) =>
    parts.store.insertInto('projects').values({ id, name: id, created_at: 0 }).execute();
  const names = async (sender: { token?: string } = {}): Promise<string[]> =>
    (await parts.get('/v2/projects', sender)).body.data.map(({ name }: { name: string }) => name);
  return { ...parts, clock, tokens, issue, project, names };
}

const uuid = (digit: number): string => `${digit}0000000-0000-4000-8000-000000000000`;

test('the cloud answers with the present rows after every change', async (t) => {
  const { project, names, store } = await aTestCloud(t);
  assert.deepEqual([await names(), await names()], [[], []]);
  for (let i = 0; i < 5; i++) {
    await project(uuid(i));
    const all = Array.from({ length: i + 1 }, (_, n) => uuid(n));
    assert.deepEqual([await names(), await names()], [all, all]);
  }
  await store.deleteFrom('projects').where('id', '=', uuid(3)).execute();
  assert.deepEqual(await names(), [0, 1, 2, 4].map(uuid));
});

test('the cloud answers each caller by its permissions, and links only to the server’s own names', async (t) => {
  const { project, names, issue, get } = await aTestCloud(t);
  for (const id of [uuid(1), uuid(2)]) await project(id);
  const viewers = [uuid(1), uuid(2)].map((projectId) => issue({ role: 'projectViewer', projectId }));
  const [first, second] = (await Promise.all(viewers)).map(({ token }) => token) as [string, string];
  for (let again = 0; again < 2; again++) {
    assert.deepEqual(await names(), [uuid(1), uuid(2)]);
    assert.deepEqual(await names({ token: first }), [uuid(1)]);
    assert.deepEqual(await names({ token: second }), [uuid(2)]);
    assert.equal((await get(`/v2/projects/${uuid(1)}`)).status, 200);
    assert.equal((await get(`/v2/projects/${uuid(1)}`, { token: first })).status, 200);
    assert.equal((await get(`/v2/projects/${uuid(1)}`, { token: second })).status, 403);
    assert.equal((await get('/v2/users', { token: first })).status, 403);
    assert.equal((await get('/v2/users')).status, 200);
    for (const [host, named] of [
      ['localhost:80', 'localhost'],
      ['127.0.0.1:80', '127.0.0.1'],
      ['evil.example', '127.0.0.1'],
      ['localhost:81', '127.0.0.1'],
      ['localhost:80@evil.example', '127.0.0.1'],
    ] as const)
      assert.equal(
        (await get('/v2/projects', { host })).body.cursor.hrefs.first,
        `http://${named}/v2/projects?page=1&perPage=10`,
      );
    assert.equal((await get('/v2/projects?perPage=1')).body.data.length, 1);
    assert.equal((await get('/v2/projects?perPage=0')).status, 422);
  }
});

test('the cloud refuses a token as soon as it expires, is revoked or its project is deleted', async (t) => {
  const { project, issue, get, clock, tokens, store } = await aTestCloud(t);
  await project(uuid(1));
  const { token: short } = await issue({ expiresAt: clock.wallMs() + 1_000 });
  const { token: revoked, id } = await issue({});
  const { token: orphan } = await issue({ role: 'projectOwner', projectId: uuid(1) });
  const status = async (token: string): Promise<number> => (await get('/v2/projects', { token })).status;
  for (const token of [short, short, revoked, revoked, orphan, orphan])
    assert.equal(await status(token), 200);
  clock.advance(999);
  assert.equal(await status(short), 200);
  clock.advance(1);
  assert.equal(await status(short), 401);
  await tokens.revoke({ id });
  assert.equal(await status(revoked), 401);
  await store.deleteFrom('projects').where('id', '=', uuid(1)).execute();
  assert.equal(await status(orphan), 403);
});

test('the cloud checks the signature and the time of every signed request', async (t) => {
  const { issue, cloud, clock } = await aTestCloud(t);
  const { accessKey, secretKey } = await issue({});
  const send = async (at: number, secret = secretKey): Promise<number> => {
    const timestamp = String(Math.floor(at / 1000));
    const signature = signatureOf(secret, 'GET', '/v2/clouds', timestamp);
    const headers = { authorization: `Bearer ${accessKey}:${signature}`, [timestampHeader]: timestamp };
    return (await cloud.api.inject({ url: '/v2/clouds', headers })).statusCode;
  };
  const signedAtMs = clock.wallMs();
  assert.deepEqual([await send(signedAtMs), await send(signedAtMs)], [200, 200]);
  assert.equal(await send(signedAtMs, 'another'), 401);
  clock.advance(301_000);
  assert.equal(await send(signedAtMs), 401);
  assert.equal(await send(clock.wallMs()), 200);
});

test('the cloud counts every request against the limit of its token', async (t) => {
  const { get } = await aTestCloud(t, { requestsPerSecond: 2 });
  for (let i = 0; i < 10; i++) assert.equal((await get('/v2/projects')).status, 200);
  assert.equal((await get('/v2/projects')).status, 429);
});

/** Every operation that is declared as answered from the store alone. */
async function operationsFromStore(): Promise<Operation[]> {
  const files = globSync(join(import.meta.dirname, '**/*.contract.ts'));
  const modules = await Promise.all(files.map((file) => import(file) as Promise<Record<string, unknown>>));
  const declared = modules.flatMap((module) => Object.values(module)) as Operation[];
  return declared.filter((operation) => operation?.fromStore);
}

test('the cloud caches only reads that depend on the store alone, not on the time or a node', async (t) => {
  const parts = await aTestCloud(t);
  const { store, clock, project, get } = parts;
  const [id, far] = [uuid(1), clock.wallMs() + 1_000_000];
  const cloud = { provider: 'aws', region: 'x', cidr: '10.0.0.0/8', status: 'ready', created_at: 0 };
  await store
    .insertInto('clouds')
    .values({ id, name: 'far', ...cloud })
    .execute();
  await project(id);
  const nodes = new ClusterNodes({ ...parts, operatorAddress: undefined });
  await store
    .insertInto('clusters')
    .values({
      id,
      environment: 'vpc',
      name: 'c',
      project_id: id,
      cloud_id: id,
      description: '',
      spec: JSON.stringify({ servers: [] }),
      node_count: 1,
      phase: 'ready',
      home: 'elsewhere',
      administrator_sealed: nodes.sealAdministrator({ username: 'a', password: 'b' }),
      certificate: 'PEM',
      created_at: 0,
      updated_at: 0,
      deployed_at: far,
    })
    .execute();
  // Nothing listens on this address: a request to this node fails or times out.
  const ports = JSON.stringify({ rest: 1, kv: 1 });
  const node = { id, cluster_id: id, position: 0, memory_mb: 1, services: '[]', address: '127.0.0.1', ports };
  await store
    .insertInto('nodes')
    .values({ ...node, home: 'elsewhere', state: 'member' })
    .execute();
  const work = { cluster_id: id, project_id: id, kind: 'create', step: 'place', state: 'open', attempts: 0 };
  const times = { lease_until: far, next_at: far, deadline: far, created_at: 0, updated_at: 0 };
  const otherValues = { last_error: null, home: 'elsewhere', owner: null };
  await store
    .insertInto('operations')
    .values({ id, ...work, ...otherValues, ...times })
    .execute();
  const operations = await operationsFromStore();
  assert.ok(operations.length >= 11, String(operations.length));
  const beginMs = clock.wallMs();
  for (const { method, access, replies, path } of operations) {
    clock.setWall(beginMs - clock.monotonicMs());
    assert.deepEqual([method, access, Object.keys(replies)], ['GET', 'token', ['200']], path);
    assert.equal(replies[200]?.headers, undefined, path);
    const first = await get(path.replace('{id}', id));
    assert.equal(first.status, 200, `${path}: ${JSON.stringify(first.body)}`);
    clock.advance(2_000_000);
    await store.updateTable('facts').set({ value: 'x' }).where('name', '=', 'nothing').execute();
    assert.deepEqual(await get(path.replace('{id}', id)), first, path);
  }
});

test('the cloud shows each item once over all pages, in every sort order', async (t) => {
  const { project, get } = await aTestCloud(t);
  const ids = Array.from({ length: 7 }, (_, at) => uuid(at + 1));
  for (const id of ids) await project(id);
  for (const [order, all] of [
    ['', ids],
    ['&sortBy=name.desc', ids.toReversed()],
  ] as const) {
    const pages: string[][] = [];
    for (let page = 1; page <= 4; page++) {
      const { body } = await get(`/v2/projects?perPage=3&page=${page}${order}`);
      pages.push(body.data.map(({ id }: { id: string }) => id));
      assert.equal(body.cursor.pages.totalItems, 7);
    }
    assert.deepEqual(pages, [all.slice(0, 3), all.slice(3, 6), all.slice(6), []]);
  }
});
