// Backups of user-defined functions over the administration paths of the query port, and paths that are always refused with a reason.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { administrator, eventually } from '../support/node-process.ts';
import { type Account, QueryClient } from '../support/query-client.ts';
import { RestartedNode } from '../support/restarted-node.ts';

const node = new RestartedNode('shop');
const rows = (statement: string, parameters = {}) => node.queries.rows(statement, parameters);
const cataloger = { username: 'cataloger', password: 'password' };

before(async () => {
  await node.start();
  for (const scope of ['s', 't', 'z']) await rows(`CREATE SCOPE shop.${scope}`);
  await rows('CREATE FUNCTION twice(x) { x * 2 }');
  await rows('CREATE FUNCTION most(...) { ARRAY_MAX(args) }');
  await rows('CREATE FUNCTION default:shop.s.plus(x) { x + 1 }');
  await rows('CREATE FUNCTION default:shop.t.plus(x) { x + 2 }');
  const form = { password: 'password', roles: 'query_system_catalog' };
  await node.process.request('/settings/rbac/users/local/cataloger', 'PUT', form);
  const as = new QueryClient(node.process.ready.node.query ?? '', cataloger);
  await eventually(async () => assert.equal(await as.code('SELECT 1'), 0));
});
after(() => node[Symbol.asyncDispose]());

async function call(
  method: string,
  path: string,
  body?: unknown,
  { username, password }: Account = administrator,
) {
  const response = await fetch(`${node.process.ready.node.query}${path}`, {
    method,
    headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    body: (await response.json()) as FunctionBackup & { errors?: [{ code: number; msg: string }] },
  };
}

interface FunctionBackup {
  udfMagic: string;
  version: string;
  udfs: { identity: { name: string; scope?: string } }[];
}

const names = ({ udfs }: FunctionBackup) =>
  udfs.map(({ identity }) => `${identity.scope ?? ''} ${identity.name}`).sort();

test('a backup of the global functions restores them', async () => {
  const { body: backup } = await call('GET', '/api/v1/backup');
  assert.deepEqual(names(backup), [' most', ' twice']);
  await rows('DROP FUNCTION twice');
  await rows('CREATE OR REPLACE FUNCTION most(...) { 0 }');
  assert.equal((await call('POST', '/api/v1/backup', backup)).status, 200);
  assert.deepEqual(await rows('SELECT RAW twice(4) + most(1, 3, 2)'), [11]);
});

test("a backup of a bucket's functions is restored into the same scopes, or into others", async () => {
  const path = '/api/v1/bucket/shop/backup';
  const { body: backup } = await call('GET', path);
  assert.deepEqual(names(backup), ['s plus', 't plus']);
  assert.deepEqual(names((await call('GET', `${path}?include=s`)).body), ['s plus']);
  assert.deepEqual(names((await call('GET', `${path}?exclude=s`)).body), ['t plus']);
  assert.equal((await call('POST', `${path}?include=s&remap=s:z`, backup)).status, 200);
  assert.deepEqual(await rows('SELECT RAW default:shop.z.plus(1)'), [2]);
  // Global functions of the backup are no part of the bucket.
  assert.equal((await call('POST', path, (await call('GET', '/api/v1/backup')).body)).status, 200);
});

test('a backup has functions in JavaScript with their libraries, which follow them into another scope', async () => {
  const path = '/evaluator/v1/libraries/own?bucket=shop&scope=t';
  const library = async (method: string, body?: string): Promise<number> => {
    const { username, password } = administrator;
    const headers = { authorization: `Basic ${btoa(`${username}:${password}`)}` };
    const url = `${node.process.ready.node.query}${path}`;
    return (await fetch(url, { method, headers, ...(body !== undefined && { body }) })).status;
  };
  assert.equal(await library('POST', 'function one() { return 1; }'), 200);
  for (const [name, place] of Object.entries({ near: './own', far: 'shop/t/own' }))
    await rows(`CREATE FUNCTION default:shop.t.${name}() LANGUAGE JAVASCRIPT AS "one" AT "${place}"`);
  const url = '/api/v1/bucket/shop/backup';
  const { body: backup } = await call('GET', `${url}?include=t`);
  for (const name of ['near', 'far']) await rows(`DROP FUNCTION default:shop.t.${name}`);
  assert.equal(await library('DELETE'), 200);
  assert.equal((await call('POST', `${url}?remap=t:z`, backup)).status, 200);
  assert.deepEqual(await rows('SELECT RAW default:shop.z.near() + default:shop.z.far()'), [2]);
  assert.equal((await call('POST', url, backup)).status, 200);
  assert.deepEqual(await rows('SELECT RAW default:shop.t.near() + default:shop.t.far()'), [2]);
  for (const scope of ['t', 'z'])
    for (const name of ['near', 'far']) await rows(`DROP FUNCTION default:shop.${scope}.${name}`);
});

test('a backup with libraries of more than a mebibyte is restored, but refused from clients that are not logged in', async () => {
  const { body: backup } = await call('GET', '/api/v1/backup');
  const long = { bucket: '', scope: '', code: `function f() {} // ${'x'.repeat(130_000)}` };
  const libraries = Array.from({ length: 9 }, (_, at) => ({ ...long, name: `long${at}` }));
  assert.equal((await call('POST', '/api/v1/backup', { ...backup, libraries })).status, 200);
  const { body: read } = await call('GET', '/api/v1/backup');
  assert.ok(JSON.stringify(read).length > 1 << 20);
  const body = JSON.stringify(read);
  const anonymous = await fetch(`${node.process.ready.node.query}/api/v1/backup`, { method: 'POST', body });
  assert.equal(anonymous.status, 413);
});

test('the node refuses what is no backup of functions, and callers who may not manage functions', async () => {
  const { body: backup } = await call('GET', '/api/v1/backup');
  const [first] = backup.udfs as unknown as [{ identity: object; definition: object }];
  const wrong: readonly (readonly [unknown, number, RegExp])[] = [
    [5, 1040, /body: it must be a JSON object/],
    [{ ...backup, udfMagic: 'x' }, 1040, /udfMagic/],
    [{ ...backup, version: '9' }, 1040, /version/],
    [{ ...backup, udfs: [5] }, 1040, /udfs\[0\]/],
    [{ ...backup, udfs: [{ ...first, identity: { type: 'global' } }] }, 1040, /name: it must be a text/],
    [
      { ...backup, udfs: [{ ...first, definition: { '#language': 'inline', text: 'a +' } }] },
      3000,
      /syntax error/,
    ],
    [{ ...backup, udfs: [{ ...first, definition: { '#language': 'golang' } }] }, 10108, /disabled/],
    [
      { ...backup, udfs: [{ ...first, definition: { '#language': 'javascript' } }] },
      1040,
      /library: it must be/,
    ],
    [
      { ...backup, udfs: [{ ...first, definition: { '#language': 'javascript', library: './a/b' } }] },
      10114,
      /library path/,
    ],
    [
      { ...backup, libraries: [{ name: 'x', bucket: 'shop', scope: '', code: 'x' }] },
      1040,
      /bucket and scope/,
    ],
    [{ ...backup, libraries: [{ name: 'x', bucket: '', scope: '', code: 'x(' }] }, 1040, /x: SyntaxError/],
    [{ ...backup, libraries: [{ name: '', bucket: '', scope: '', code: 'x' }] }, 1040, /name: it must be/],
    [{ ...backup, libraries: [{ name: 'x', bucket: '', scope: '' }] }, 1040, /code: it must be/],
  ];
  for (const [body, code, text] of wrong) {
    const { body: answer } = await call('POST', '/api/v1/backup', body);
    assert.equal(answer.errors?.[0]?.code, code, JSON.stringify(body));
    assert.match(answer.errors?.[0]?.msg ?? '', text);
  }
  for (const path of ['/api/v1/backup', '/api/v1/bucket/shop/backup'])
    for (const [method, body] of [['GET'], ['POST', backup]] as const) {
      if (method === 'POST' && path.includes('bucket')) continue; // this backup has nothing of the bucket
      const { status, body: answer } = await call(method, path, body, cataloger);
      assert.deepEqual([status, answer.errors?.[0]?.code], [401, 13014], `${method} ${path}`);
    }
});

test('paths for what the administration port or the cluster manager does are refused with that reason', async () => {
  const certificate = await call('POST', '/admin/ssl_cert');
  assert.match(certificate.body.errors?.[0]?.msg ?? '', /reloadCertificate of the administration port/);
  assert.equal((await call('POST', '/admin/ssl_cert', undefined, cataloger)).status, 401);
  for (const method of ['GET', 'POST']) {
    const shutdown = await call(method, '/admin/shutdown');
    assert.equal(shutdown.status, 401);
    assert.match(shutdown.body.errors?.[0]?.msg ?? '', /by the cluster manager only/);
  }
  assert.deepEqual(await rows('SELECT RAW 1'), [1]);
});
