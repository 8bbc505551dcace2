import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const user = '/settings/rbac/users/local/app';
const limits = {
  kv: { num_connections: 3, num_ops_per_min: 100 },
  clusterManager: { num_concurrent_requests: 1, ingress_mib_per_min: 2 },
};

async function aManagerWithLimits() {
  const node = await aManager();
  const put = (form: Record<string, string>) => node.request(user, { method: 'PUT', form });
  const first = await put({ password: 'password', roles: 'ro_admin', limits: JSON.stringify(limits) });
  assert.equal(first.status, 200, first.text);
  const enforce = (on: boolean) => node.request('/internalSettings', { form: { enforceLimits: String(on) } });
  const specOf = () => node.kv.desired?.users.find(({ name }) => name === 'app');
  return { ...node, put, enforce, specOf };
}

describe('limits of a user', () => {
  it('are shown, kept by a change without them, removed by an empty object, and refused where wrong', async () => {
    const { request, put } = await aManagerWithLimits();
    const readLimits = async () => (await request(user)).body.limits;
    assert.deepEqual(await readLimits(), limits);
    await put({ roles: 'ro_admin' });
    assert.deepEqual(await readLimits(), limits);
    for (const [sent, text] of [
      ['x', 'Invalid JSON'],
      ['{"kv":{"ops":1}}', 'kv.ops: Unsupported key'],
    ] as const) {
      const refused = await put({ roles: 'ro_admin', limits: sent });
      assert.deepEqual([refused.status, refused.body], [400, { errors: { limits: text } }]);
    }
    await put({ roles: 'ro_admin', limits: '{}' });
    assert.equal(await readLimits(), undefined);
    const external = '/settings/rbac/users/external/jane';
    const refused = await request(external, { method: 'PUT', form: { roles: '', limits: '{}' } });
    assert.equal(refused.body.errors.limits, 'Unsupported key');
  });

  it('reach the data service only while they are enforced', async () => {
    const { enforce, specOf, manager } = await aManagerWithLimits();
    assert.equal(specOf()?.limits, undefined);
    await enforce(true);
    assert.equal(await manager.applied(60_000), true);
    assert.deepEqual(specOf()?.limits, {
      connections: 3,
      operations: 100,
      ingressMib: Infinity,
      egressMib: Infinity,
    });
    await enforce(false);
    assert.equal(await manager.applied(60_000), true);
    assert.equal(specOf()?.limits, undefined);
  });

  it('refuse further requests at the REST port with the name of the limit', async () => {
    const { request, server, enforce, clock } = await aManagerWithLimits();
    const authorization = `Basic ${Buffer.from('app:password').toString('base64')}`;
    await enforce(true);
    // An unknown etag is answered at once: that request no longer counts against the limit.
    const answered = server.inject({
      method: 'GET',
      url: '/pools/default?waitChange=60000&etag=none-such',
      headers: { authorization },
    });
    await answered;
    const etag = (await request('/pools/default', { as: 'app:password' })).body.etag;
    const openRequest = server.inject({
      method: 'GET',
      url: `/pools/default?waitChange=60000&etag=${etag}`,
      headers: { authorization },
    });
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    const refused = await request('/pools', { as: 'app:password' });
    assert.deepEqual([refused.status, refused.text], [429, 'Limit(s) exceeded [num_concurrent_requests]']);
    assert.equal((await request('/pools')).status, 200);
    clock.advance(60_000);
    await openRequest;
    assert.equal((await request('/pools', { as: 'app:password' })).status, 200);
    const large = { form: { password: 'x'.repeat(1_000_000) }, as: 'app:password' };
    for (const isRefused of [false, false, false, true]) {
      const { status, text } = await request('/controller/changePassword', large);
      assert.equal(status === 429, isRefused, text.slice(0, 200));
      if (isRefused) assert.equal(text, 'Limit(s) exceeded [ingress]');
    }
  });
});

describe('limits of a scope', () => {
  const scopes = '/pools/default/buckets/b/scopes';

  it('refuse further collections while they are enforced, can be raised, and are kept by a bulk update', async () => {
    const { request, enforce } = await aManagerWithLimits();
    await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100, replicaNumber: 0 } });
    const scope = (form: Record<string, string>) => request(scopes, { form: { name: 's', ...form } });
    const oneCollection = { clusterManager: { num_collections: 1 }, index: { num_indexes: 2 } };
    assert.equal((await scope({ limits: JSON.stringify(oneCollection) })).status, 200);
    const readLimits = async () =>
      (await request(scopes)).body.scopes.find(({ name }: { name: string }) => name === 's').limits;
    assert.deepEqual(await readLimits(), oneCollection);
    assert.equal((await scope({})).status, 400);
    const add = (name: string) => request(`${scopes}/s/collections`, { form: { name } });
    assert.equal((await add('a')).status, 200);
    assert.equal((await add('b')).status, 200);
    await enforce(true);
    const refused = await add('c');
    assert.equal(refused.status, 429);
    assert.deepEqual(refused.body.errors, {
      limits: 'Maximum number of collections has been reached for scope "s"',
    });
    const threeCollections = { clusterManager: { num_collections: 3 } };
    assert.equal((await scope({ limits: JSON.stringify(threeCollections) })).status, 200);
    assert.deepEqual(await readLimits(), threeCollections);
    assert.equal((await add('c')).status, 200);
    assert.equal((await add('d')).status, 429);
    assert.match((await scope({ limits: '{"kv":{"data_size":1}}' })).body.errors.limits, /not limited/);
    assert.match((await scope({ limits: '{"x":{}}' })).body.errors.limits, /x: Unsupported/);
    const manifest = (await request(scopes)).body;
    const sent = manifest.scopes.map(({ name, collections }: never) => ({ name, collections }));
    assert.equal((await request(scopes, { method: 'PUT', json: { scopes: sent } })).status, 200);
    assert.deepEqual(await readLimits(), threeCollections);
  });
});
