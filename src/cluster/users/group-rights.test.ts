import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

test("requires the right to grant a group's roles for adding a user to it", async () => {
  const { request } = await aManager();
  const put = (id: string, form: Record<string, string>, as?: string) =>
    request(`/settings/rbac/users/local/${id}`, { method: 'PUT', form, ...(as && { as }) });
  const group = (id: string, roles: string) =>
    request(`/settings/rbac/groups/${id}`, { method: 'PUT', form: { roles } });
  await request('/pools/default/buckets', { form: { name: 'travel', ramQuota: 100 } });
  await put('sec', { password: 'secret1', roles: 'security_admin_local' });
  await group('chiefs', 'admin');
  await group('readers', 'data_reader[travel]');
  const as = 'sec:secret1';
  assert.equal((await put('joe', { password: 'secret1', groups: 'chiefs' }, as)).status, 403);
  assert.equal((await put('joe', { password: 'secret1', groups: 'readers' }, as)).status, 200);
  assert.equal((await put('joe', { groups: 'readers,chiefs' }, as)).status, 403);
  assert.equal((await put('joe', { groups: 'readers,chiefs' })).status, 200);
  assert.equal((await put('joe', { roles: '' }, as)).status, 403, 'an administrator by the group');
});
