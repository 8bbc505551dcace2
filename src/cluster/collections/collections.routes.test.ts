import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const scopes = '/pools/default/buckets/b/scopes';
/** The published limit on the collections of a cluster; default collections do not count. */
const publishedMax = 1_200;

async function aBucket(form: Record<string, string | number> = {}) {
  const node = await aManager();
  await node.request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100, ...form } });
  return node;
}

describe('scopes and collections', () => {
  it('start with the default ones', async () => {
    const { request } = await aBucket();
    assert.deepEqual((await request(scopes)).body, {
      uid: '0',
      scopes: [{ name: '_default', uid: '0', collections: [{ name: '_default', uid: '0', maxTTL: 0 }] }],
    });
  });

  it('are created, changed and dropped, each change with a new uid that the data service gets', async () => {
    const { request, kv } = await aBucket();
    assert.deepEqual((await request(scopes, { form: { name: 's' } })).body, { uid: '1' });
    const created = await request(`${scopes}/s/collections`, { form: { name: 'c', maxTTL: 60 } });
    assert.deepEqual([created.status, created.body], [200, { uid: '2' }]);
    assert.deepEqual(kv.desired?.buckets[0]?.manifest, {
      uid: '2',
      scopes: [
        { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
        { name: 's', uid: '8', collections: [{ name: 'c', uid: '9', maxTTL: 60 }] },
      ],
    });
    const changed = await request(`${scopes}/s/collections/c`, { method: 'PATCH', form: { maxTTL: 5 } });
    assert.deepEqual(changed.body, { uid: '3' });
    assert.equal((await request(scopes)).body.scopes[1].collections[0].maxTTL, 5);
    assert.deepEqual((await request(`${scopes}/s/collections/c`, { method: 'DELETE' })).body, { uid: '4' });
    assert.deepEqual((await request(`${scopes}/s`, { method: 'DELETE' })).body, { uid: '5' });
    assert.deepEqual((await request(scopes, { form: { name: 's' } })).body, { uid: '6' });
    assert.equal((await request(scopes)).body.scopes[1].uid, 'a');
    assert.equal((await request('/pools/default/b/b')).body.collectionsManifestUid, '6');
  });

  it('refuse existing, missing and forbidden names', async () => {
    const { request } = await aBucket();
    await request(scopes, { form: { name: 's' } });
    await request(`${scopes}/s/collections`, { form: { name: 'c' } });
    const cases: [string, string, Record<string, string> | undefined, number, string][] = [
      ['POST', scopes, { name: 's' }, 400, 'Scope with name "s" already exists'],
      [
        'POST',
        `${scopes}/s/collections`,
        { name: 'c' },
        400,
        'Collection with name "c" in scope "s" already exists',
      ],
      ['POST', `${scopes}/x/collections`, { name: 'c' }, 404, 'Scope with name "x" is not found'],
      ['DELETE', `${scopes}/x`, undefined, 404, 'Scope with name "x" is not found'],
      [
        'DELETE',
        `${scopes}/s/collections/x`,
        undefined,
        404,
        'Collection with name "x" in scope "s" is not found',
      ],
      [
        'PATCH',
        `${scopes}/s/collections/x`,
        { maxTTL: '1' },
        404,
        'Collection with name "x" in scope "s" is not found',
      ],
      ['DELETE', `${scopes}/_default`, undefined, 400, 'Deleting _default scope is not allowed'],
      [
        'POST',
        `${scopes}/s/collections`,
        { name: '_default' },
        400,
        'Cannot create _default collection in scope "s". Creation of _default collection is not allowed.',
      ],
    ];
    for (const [method, url, form, status, text] of cases) {
      const answer = await request(url, { method: method as 'POST', ...(form && { form }) });
      assert.deepEqual([answer.status, answer.body], [status, { errors: { _: text } }]);
    }
  });

  it('refuse bad names and expiries by field', async () => {
    const { request } = await aBucket();
    const wrong = async (url: string, form: Record<string, string>) =>
      (await request(url, { form })).body.errors;
    assert.deepEqual(await wrong(scopes, {}), { name: 'The value must be supplied' });
    assert.deepEqual(await wrong(scopes, { name: '_x' }), { name: 'First character must not be _ or %' });
    assert.match((await wrong(scopes, { name: 'a b' })).name, /^Can only contain/);
    assert.match((await wrong(scopes, { name: 'x'.repeat(252) })).name, /^Name length \(252\)/);
    assert.deepEqual(await wrong(scopes, { name: 's', y: '1' }), { y: 'Unsupported key' });
    const errors = await wrong(`${scopes}/_default/collections`, { name: 'c', maxTTL: '-1' });
    assert.equal(errors.maxTTL, 'The value must be in range from 0 to 2147483647');
  });

  it('refuse to create the default collection again after it was dropped', async () => {
    const { request } = await aBucket();
    const url = `${scopes}/_default/collections`;
    assert.equal((await request(`${url}/_default`, { method: 'DELETE' })).status, 200);
    assert.match((await request(url, { form: { name: '_default' } })).body.errors._, /not allowed/);
  });

  it('are replaced as a whole, keeping the ids of remaining ones', async () => {
    const { request } = await aBucket();
    await request(scopes, { form: { name: 's' } });
    await request(`${scopes}/s/collections`, { form: { name: 'c' } });
    const json = {
      scopes: [
        { name: '_default', collections: [{ name: '_default' }] },
        { name: 's', collections: [{ name: 'c' }, { name: 'd', maxTTL: 9 }] },
      ],
    };
    const stale = await request(`${scopes}?validOnUid=1`, { method: 'PUT', json });
    assert.deepEqual(stale.body.errors._, "validOnUid doesn't match the current manifest Uid");
    assert.deepEqual((await request(`${scopes}?validOnUid=2`, { method: 'PUT', json })).body, { uid: '3' });
    const { collections } = (await request(scopes)).body.scopes[1];
    assert.deepEqual(collections, [
      { name: 'c', uid: '9', maxTTL: 0 },
      { name: 'd', uid: 'a', maxTTL: 9 },
    ]);
    assert.deepEqual((await request(scopes, { method: 'PUT', json })).body, { uid: '3' });
    for (const body of [
      {},
      { scopes: [null] },
      { scopes: [{ name: '_default', collections: [{ name: 1 }] }] },
    ]) {
      assert.equal((await request(scopes, { method: 'PUT', json: body })).status, 400);
    }
    const wrong = [
      { name: '_default', collections: [] },
      { name: '%', collections: [{ name: 'a' }, { name: 'b', maxTTL: -1 }] },
      { collections: 1 },
    ];
    const refused = await request(scopes, { method: 'PUT', json: { scopes: wrong } });
    const supplied = 'The value must be supplied';
    const ttl = 'The value must be in range from 0 to 2147483647';
    assert.deepEqual(refused.body.errors, {
      scopes: [
        {},
        { name: 'First character must not be _ or %', collections: [{}, { maxTTL: ttl }] },
        { name: supplied, collections: supplied },
      ],
    });
    const noDefault = await request(scopes, { method: 'PUT', json: { scopes: [] } });
    assert.equal(noDefault.body.errors._, 'Deleting _default scope is not allowed');
  });

  it('let scope administrators see and change only their scopes', async () => {
    const { request } = await aBucket();
    for (const name of ['mine', 'other']) await request(scopes, { form: { name } });
    const form = { password: 'password', roles: 'scope_admin[b:mine]' };
    await request('/settings/rbac/users/local/sa', { method: 'PUT', form });
    const as = 'sa:password';
    const { body } = await request(scopes, { as });
    assert.deepEqual(
      body.scopes.map((scope: { name: string }) => scope.name),
      ['mine'],
    );
    assert.equal((await request(`${scopes}/mine/collections`, { as, form: { name: 'c' } })).status, 200);
    assert.equal((await request(`${scopes}/other/collections`, { as, form: { name: 'c' } })).status, 403);
    assert.equal((await request(scopes, { as, form: { name: 'third' } })).status, 403);
  });

  it('are not available in cache buckets', async () => {
    const { request } = await aBucket({ bucketType: 'cache' });
    const { status, text } = await request(scopes, { form: { name: 's' } });
    assert.deepEqual([status, text], [400, 'Not allowed on this type of bucket']);
  });

  it('make ensureManifest wait until the data service applies the manifest', async () => {
    const { request, clock } = await aBucket();
    await request(scopes, { form: { name: 's' } });
    const ensure = (uid: string) =>
      request(`${scopes}/@ensureManifest/${uid}`, { form: { timeout: '5000' } });
    assert.equal((await ensure('1')).status, 200);
    assert.deepEqual([(await ensure('zz')).status, (await ensure('zz')).text], [400, 'Invalid UID']);
    const before = clock.pending;
    const waiting = ensure('2');
    while (clock.pending === before) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5_000);
    assert.deepEqual([(await waiting).status, (await waiting).text], [504, 'timeout']);
  });

  it('are limited in number over the cluster', async () => {
    const { request } = await aBucket();
    const collections = Array.from({ length: publishedMax }, (_, index) => ({ name: `c${index}` }));
    const json = { scopes: [{ name: '_default', collections: [{ name: '_default' }, ...collections] }] };
    assert.equal((await request(scopes, { method: 'PUT', json })).status, 200);
    const more = await request(`${scopes}/_default/collections`, { form: { name: 'more' } });
    assert.deepEqual(more.body.errors._, 'Maximum number of collections has been reached');
  });
});
