import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

test('a user or group that was changed or deleted since it was read is not replaced', async (t) => {
  const { request, manager } = await aManager();
  t.after(() => manager.stop());
  await request('/settings/rbac/users/local/jane', {
    method: 'PUT',
    form: { password: 'password', roles: 'admin' },
  });
  for (const path of ['users/local/jane', 'users/external/joe', 'groups/g']) {
    const url = `/settings/rbac/${path}`;
    const isPresent = path.startsWith('users/local');
    const change = async (roles: string, tag?: string) =>
      await request(url, { method: 'PUT', form: { roles }, ...(tag && { headers: { 'if-match': tag } }) });
    assert.equal((await change('admin', '*')).status, isPresent ? 200 : 412);
    assert.equal((await change('ro_admin')).status, 200);
    const tag = String((await request(url)).headers['etag']);
    assert.equal((await change('cluster_admin', tag)).status, 200);
    const { status, text } = await change('security_admin', tag);
    assert.deepEqual([status, /changed or deleted meanwhile/.test(text)], [412, true], path);
    assert.equal((await change('admin', '*')).status, 200);
    const latest = String((await request(url)).headers['etag']);
    assert.equal((await request(url, { method: 'DELETE' })).status, 200);
    // A local user would need a password to be created again.
    assert.equal((await change('admin', latest)).status, isPresent ? 400 : 412);
    assert.equal((await request(url)).status, 404);
  }
});

test('a user or group that was changed since it was read is not deleted', async (t) => {
  const { request, manager } = await aManager();
  t.after(() => manager.stop());
  for (const path of ['users/local/jane', 'users/external/joe', 'groups/g']) {
    const url = `/settings/rbac/${path}`;
    const password = path.startsWith('users/local') && { password: 'password' };
    const put = (roles: string) => request(url, { method: 'PUT', form: { roles, ...password } });
    const deleted = async (tags: string) =>
      (await request(url, { method: 'DELETE', headers: { 'if-match': tags } })).status;
    await put('ro_admin');
    const tag = String((await request(url)).headers['etag']);
    await put('cluster_admin');
    assert.equal(await deleted(tag), 412, path);
    assert.equal((await request(url)).status, 200);
    const latest = String((await request(url)).headers['etag']);
    assert.equal(await deleted(`${tag}, ${latest}`), 200, `${path}: any of several tags suffices`);
    assert.equal(await deleted('*'), 412, `${path} is deleted already`);
  }
});
