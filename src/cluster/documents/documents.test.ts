// Documents over REST, with a real data service behind the cluster manager.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vbucketOf } from '#client/document-key.ts';
import { aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import { schemaMismatches } from '../../../test/support/json-schema.ts';
import { administrator, aManager } from '../../../test/support/manager.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { ListDocuments, ReadDocument } from './documents.contract.ts';

const buckets = '/pools/default/buckets';
const docs = `${buckets}/b/docs`;
const orders = `${buckets}/b/scopes/shop/collections/orders/docs`;

async function aCluster() {
  const service = await startService(aDesired({ buckets: [] }));
  const account = { username: 'admin', password: 'password' };
  const dataPort = async () => ({
    address: { host: '127.0.0.1', port: service.port, timeoutMs: 60_000 },
    account,
  });
  const cluster = await aManager({ dataPort });
  const { request, manager, kv } = cluster;
  await request(buckets, { form: { name: 'b', ramQuotaMB: 100, bucketType: 'couchbase' } });
  await request(`${buckets}/b/scopes`, { form: { name: 'shop' } });
  await request(`${buckets}/b/scopes/shop/collections`, { form: { name: 'orders' } });
  assert.equal(await manager.applied(60_000), true);
  const users = [aUser('admin', 'password')];
  await service.service.apply(aDesired({ ...kv.desired, users, clients: null }));
  return {
    ...cluster,
    service,
    [Symbol.asyncDispose]: async () => {
      await manager.stop();
      await service[Symbol.asyncDispose]();
    },
  };
}

const rowsOf = (answer: { body: { rows: { id: string }[] } }) => answer.body.rows.map(({ id }) => id);

test('stores, reads and deletes documents of the default and of another collection', async () => {
  await using cluster = await aCluster();
  const { request } = cluster;
  for (const path of [docs, orders]) {
    const documentPath = `${path}/a%2Fb`;
    assert.equal((await request(documentPath)).status, 404);
    const stored = await request(documentPath, { form: { value: `{"path":"${path}"}` } });
    assert.deepEqual([stored.status, stored.body], [200, []]);
    const { body } = await request(documentPath);
    assert.deepEqual(schemaMismatches(body, ReadDocument.answer.json), []);
    assert.equal(body.json, `{"path":"${path}"}`);
    assert.match(body.meta.rev, new RegExp(`^1-${BigInt(body.meta.cas).toString(16)}0000000002000006$`));
    assert.deepEqual([body.meta.id, body.meta.expiration, body.xattrs], ['a/b', 0, {}]);
  }
  assert.equal((await request(`${docs}/a%2Fb`, { method: 'DELETE' })).status, 200);
  assert.deepEqual(rowsOf(await request(docs)), []);
  assert.deepEqual(rowsOf(await request(orders)), ['a/b']);
  const again = await request(`${docs}/a%2Fb`, { method: 'DELETE' });
  assert.deepEqual(again.body, { error: 'bad_request', reason: "Key doesn't exist" });
});

test('pages through keys in the order of their bytes', async () => {
  await using cluster = await aCluster();
  const { request } = cluster;
  const names = Array.from({ length: 60 }, (_, i) => `k${i}`).sort();
  await Promise.all(
    Array.from({ length: 4 }, async (_, part) => {
      for (const name of names.filter((_, i) => i % 4 === part))
        await request(`${docs}/${name}`, { form: { value: JSON.stringify(name) } });
    }),
  );
  const page = async (query: string) => rowsOf(await request(`${docs}?${query}`));
  assert.deepEqual(await page(''), names);
  assert.deepEqual(await page('limit=7'), names.slice(0, 7));
  assert.deepEqual(await page('limit=7&skip=50'), names.slice(50, 57));
  const from = (key: string) => `startkey=${encodeURIComponent(JSON.stringify(key))}`;
  assert.deepEqual(await page(from('')), names);
  const to = (key: string) => `endkey=${encodeURIComponent(JSON.stringify(key))}`;
  assert.deepEqual(await page(`${from('k2')}&limit=3&skip=1`), ['k20', 'k21', 'k22']);
  assert.deepEqual(await page(`${from('k2')}&${to('k21')}`), ['k2', 'k20', 'k21']);
  assert.deepEqual(await page(`${from('k2')}&${to('k21')}&inclusive_end=false`), ['k2', 'k20']);
  // A page may begin with any key, and end with any prefix and the last character.
  const [longest, prefix] = [`l${'x'.repeat(249)}`, `l${'x'.repeat(248)}`];
  await request(`${docs}/${longest}`, { form: { value: '1' } });
  assert.deepEqual(await page(from(longest)), [longest]);
  assert.deepEqual(await page(`${from(prefix)}&${to(`${prefix}\u{10ffff}`)}`), [longest]);
  const { body } = await request(`${docs}?limit=1&include_docs=true`);
  assert.deepEqual(schemaMismatches(body, ListDocuments.answer.json), []);
  assert.deepEqual(body, { rows: [{ id: 'k0', doc: { json: '"k0"' } }] });
});

test('the documents API lists documents of at most 20 MB together, and names the field that makes them fewer', async () => {
  await using cluster = await aCluster();
  const { request } = cluster;
  const value = JSON.stringify('x'.repeat(7 << 20));
  for (const key of ['a', 'b', 'c']) await request(`${docs}/${key}`, { form: { value } });
  const refused = await request(`${docs}?include_docs=true`);
  assert.deepEqual([refused.status, refused.body.error], [400, 'bad_request']);
  assert.match(refused.body.reason, /^limit: the documents take more than 20 MB/);
  const { status, body } = await request(`${docs}?include_docs=true&limit=2`);
  assert.deepEqual(
    [status, body.rows.map(({ doc }: { doc: { json: string } }) => doc.json === value)],
    [200, [true, true]],
  );
  assert.deepEqual(rowsOf(await request(docs)), ['a', 'b', 'c']);
});

test('the documents API replaces only the version of a document that `cas` names', async () => {
  await using cluster = await aCluster();
  const { request } = cluster;
  const documentPath = `${docs}/a`;
  const missing = await request(documentPath, { form: { value: '1', cas: '5' } });
  assert.equal(missing.status, 409);
  await request(documentPath, { form: { value: '1' } });
  const { cas } = (await request(documentPath)).body.meta;
  assert.equal((await request(documentPath, { form: { value: '2', cas } })).status, 200);
  const outdated = await request(documentPath, { form: { value: '3', cas } });
  assert.deepEqual([outdated.status, outdated.body.error], [409, 'conflict']);
  assert.equal((await request(documentPath)).body.json, '2');
});

test('the documents API shows values that are not JSON in base64, and attributes', async () => {
  await using cluster = await aCluster();
  const { request, service } = cluster;
  const client = await service.ready();
  const on = { vb: vbucketOf('a'), key: Buffer.from('\0a') };
  await client.ask({ ...on, opcode: Opcode.set, extras: Buffer.alloc(8), value: Buffer.from([1, 2]) });
  const write = (path: string) => {
    const spec = Buffer.from([0xc8, 4, 0, path.length, 0, 0, 0, 1]);
    return Buffer.concat([spec, Buffer.from(`${path}7`)]);
  };
  for (const name of ['tag', '_sys'])
    await client.ask({ ...on, opcode: Opcode.subdocMultiMutation, value: write(name) });
  const { body } = await request(`${docs}/a`);
  assert.deepEqual([body.base64, body.json], ['AQI=', undefined]);
  assert.deepEqual(body.xattrs, { tag: 7, _sys: 7 });
  await request('/settings/rbac/users/local/reader', {
    method: 'PUT',
    form: { roles: 'data_reader[b]', password: 'password' },
  });
  const seen = await request(`${docs}/a`, { as: 'reader:password' });
  assert.deepEqual(seen.body.xattrs, { tag: 7 });
});

test('permits documents only to callers with the permission for their collection', async () => {
  await using cluster = await aCluster();
  const { request } = cluster;
  const user = (name: string, roles: string) =>
    request(`/settings/rbac/users/local/${name}`, { method: 'PUT', form: { roles, password: 'password' } });
  await user('reader', 'data_reader[b:shop:orders]');
  await user('writer', 'data_writer[b:shop:orders]');
  await user('manager', 'bucket_admin[b]');
  const may = async (as: string, path: string, method: 'GET' | 'POST' | 'DELETE') =>
    (
      await request(path, {
        method,
        as: `${as}:password`,
        ...(method === 'POST' && { form: { value: '1' } }),
      })
    ).status !== 403;
  /** One digit each for listing, storing, reading and deleting: 1 if it is permitted. */
  const permitted = async (as: string, path: string) =>
    [
      await may(as, path, 'GET'),
      await may(as, `${path}/x`, 'POST'),
      await may(as, `${path}/x`, 'GET'),
      await may(as, `${path}/x`, 'DELETE'),
    ]
      .map(Number)
      .join('');
  assert.equal(await permitted('reader', orders), '1010');
  assert.equal(await permitted('writer', orders), '0101');
  for (const as of ['reader', 'writer']) assert.equal(await permitted(as, docs), '0000', as);
  assert.equal(await permitted('manager', docs), '0000');
  assert.equal((await request(docs, { as: null })).status, 401);
});

test('the documents API refuses wrong fields, names them, and changes nothing', async () => {
  await using cluster = await aCluster();
  const { request } = cluster;
  for (const [query, name] of [
    ['limit=x', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=10001', 'limit'],
    ['limit=9000&skip=1001', 'skip'],
    ['startkey=a', 'startkey'],
    [`startkey="${'a'.repeat(251)}"`, 'startkey'],
    [`endkey="${'a'.repeat(255)}"`, 'endkey'],
    ['endkey=1', 'endkey'],
    ['include_docs=yes', 'include_docs'],
  ]) {
    const { status, body } = await request(`${docs}?${query}`);
    assert.deepEqual([status, body.error], [400, 'bad_request'], query);
    assert.match(body.reason, new RegExp(`^${name}`));
  }
  assert.equal((await request(`${docs}?limit=10000`)).status, 200);
  for (const form of [{}, { value: '1', cas: 'x' }, { value: '1', cas: '0' }, { value: '1', flags: '-1' }])
    assert.equal((await request(`${docs}/a`, { form: form as Record<string, string> })).status, 400);
  assert.deepEqual(rowsOf(await request(docs)), []);
  assert.equal((await request(`${buckets}/none/docs`)).status, 404);
  const missing = await request(`${buckets}/b/scopes/none/collections/c/docs`);
  assert.deepEqual([missing.status, missing.body], [404, { error: 'Scope with name "none" is not found' }]);
  assert.equal((await request(`${buckets}/b/scopes/a:b/collections/c]/docs/a`)).status, 404);
});

test('the documents API keeps values of documents out of the audit trail', async () => {
  await using cluster = await aCluster();
  const { request } = cluster;
  await request(`${docs}/a`, { form: { value: '{"iban":"very private"}' } });
  const { text } = await request('/events');
  assert.match(text, /documents\.write/);
  assert.doesNotMatch(text, /very private/);
  assert.match(text, new RegExp(administrator.username));
});
