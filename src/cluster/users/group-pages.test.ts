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
