import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

test('pages of groups are in the order of the requested field', async () => {
  const { request } = await aManager();
  for (const [id, description, roles, ldap_group_ref] of [
    ['a', 'y', 'ro_admin', 'cn=2'],
    ['b', 'z', 'cluster_admin', 'cn=3'],
    ['c', 'x', 'cluster_admin,ro_admin', 'cn=1'],
  ] as const) {
    const form = { description, roles, ldap_group_ref };
    const { status, text } = await request(`/settings/rbac/groups/${id}`, { method: 'PUT', form });
    assert.equal(status, 200, text);
  }
  const sorted = async (query: string): Promise<string> => {
    const { body } = await request(`/settings/rbac/groups?pageSize=3&${query}`);
    return body.groups.map(({ id }: { id: string }) => id).join('');
  };
  assert.equal(await sorted('sortBy=id'), 'abc');
  assert.equal(await sorted('sortBy=description'), 'cab');
  assert.equal(await sorted('sortBy=roles'), 'bca');
  assert.equal(await sorted('sortBy=roles&order=desc'), 'acb');
  assert.equal(await sorted('sortBy=ldap_group_ref'), 'cab');
});

test('pages of users have each user once, also those of one name in both domains', async () => {
  const { request } = await aManager();
  const roles = 'ro_admin';
  for (const id of ['a', 'b', 'c']) {
    await request(`/settings/rbac/users/local/${id}`, {
      method: 'PUT',
      form: { password: 'secret1', roles },
    });
    await request(`/settings/rbac/users/external/${id}`, { method: 'PUT', form: { roles } });
  }
  const base = '/settings/rbac/users?pageSize=2';
  for (const query of ['', '&order=desc', '&sortBy=domain', '&sortBy=password_change_timestamp']) {
    const seen: string[] = [];
    for (let link: string | undefined = base + query; link !== undefined && seen.length <= 6; ) {
      const { body } = await request(link);
      for (const { domain, id } of body.users) seen.push(`${domain} ${id}`);
      link = body.links.next;
    }
    assert.equal(seen.length, 6, query);
    assert.equal(new Set(seen).size, 6, query);
  }
});
