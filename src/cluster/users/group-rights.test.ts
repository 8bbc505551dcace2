import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

test('adding a user to a group requires the right to grant the roles of the group', async () => {
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
  assert.equal(
    (await put('joe', { roles: '' }, as)).status,
    403,
    'changed a user who is an administrator by a group',
  );
});

test('changing or deleting a group with an LDAP group requires the right to change external users', async () => {
  const { request } = await aManager();
  await request('/pools/default/buckets', { form: { name: 'travel', ramQuota: 100 } });
  for (const domain of ['local', 'external'])
    await request(`/settings/rbac/users/local/${domain}`, {
      method: 'PUT',
      form: { password: 'secret1', roles: `security_admin_${domain}` },
    });
  const form = { roles: 'data_reader[travel]', ldap_group_ref: 'cn=readers,dc=test' };
  const readers = (method: 'PUT' | 'DELETE', as: string) =>
    request('/settings/rbac/groups/readers', { method, ...(method === 'PUT' && { form }), as });
  for (const [method, as, status] of [
    ['PUT', 'local', 403],
    ['PUT', 'external', 200],
    ['DELETE', 'local', 403],
    ['DELETE', 'external', 200],
  ] as const)
    assert.equal((await readers(method, `${as}:secret1`)).status, status, `${method} as ${as}`);
});

test('the node shows the origins of a role in the same order, however the groups were sent', async () => {
  const { request } = await aManager();
  for (const id of ['readers', 'auditors'])
    await request(`/settings/rbac/groups/${id}`, { method: 'PUT', form: { roles: 'ro_admin' } });
  for (const groups of ['readers,auditors', 'auditors,readers']) {
    const form = { password: 'secret1', groups, roles: 'ro_admin' };
    await request('/settings/rbac/users/local/jane', { method: 'PUT', form });
    const { body } = await request('/settings/rbac/users/local/jane');
    assert.deepEqual(body.roles[0].origins, [
      { type: 'group', name: 'auditors' },
      { type: 'group', name: 'readers' },
      { type: 'user' },
    ]);
  }
});

test('a group does not show roles for a deleted bucket', async () => {
  const { request } = await aManager();
  const readers = '/settings/rbac/groups/readers';
  for (const name of ['travel', 'gone'])
    await request('/pools/default/buckets', { form: { name, ramQuota: 100 } });
  const roles = 'data_reader[travel],bucket_admin[gone],data_reader[gone]';
  await request(readers, { method: 'PUT', form: { roles } });
  const before = (await request(readers)).body;
  assert.equal(before.roles.length, 3);
  await request('/pools/default/buckets/gone', { method: 'DELETE' });
  const one = (await request(readers)).body;
  const [listed] = (await request('/settings/rbac/groups')).body;
  const page = (await request('/settings/rbac/groups?pageSize=2')).body;
  assert.deepEqual(
    [one.roles, listed.roles, page.groups[0].roles],
    Array.from({ length: 3 }, () => before.roles.slice(0, 1)),
  );
});
