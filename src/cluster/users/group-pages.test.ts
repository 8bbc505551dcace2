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

test('a page whose first user or group was deleted starts with the one after it, in every order', async (t) => {
  const { request } = await aManager();
  const put = async (path: string, form: Record<string, string>) => {
    const { status, text } = await request(`/settings/rbac/${path}`, { method: 'PUT', form });
    assert.equal(status, 200, text);
  };
  const lists = [
    ...['sortBy=id', 'sortBy=name', 'sortBy=name&order=desc', 'sortBy=domain', 'order=desc'].map((query) => [
      'users',
      query,
    ]),
    ...['sortBy=id', 'sortBy=description', 'sortBy=description&order=desc'].map((query) => ['groups', query]),
  ] as const;
  t.plan(lists.length);
  for (const [kind = '', query = ''] of lists) {
    for (const [id, name] of [
      ['a', 'Zoe'],
      ['b', 'Ann'],
      ['c', 'Max'],
      ['d', 'Eva'],
    ] as const) {
      if (kind === 'groups') await put(`groups/${id}`, { description: name, roles: '' });
      else {
        await put(`users/local/${id}`, { password: 'secret1', name, roles: '' });
        await put(`users/external/${id}`, { name, roles: '' });
      }
    }
    const base = `/settings/rbac/${kind}?${query}`;
    const pathOf = ({ domain, id }: { domain?: string; id: string }) =>
      `/settings/rbac/${kind}/${domain === undefined ? id : `${domain}/${id}`}`;
    const expected = ((await request(`${base}&pageSize=100`)).body[kind] as { id: string }[]).map(pathOf);
    const [, , third = ''] = expected;
    const { next } = (await request(`${base}&pageSize=2`)).body.links;
    assert.equal((await request(third, { method: 'DELETE' })).status, 200);
    const { body } = await request(next);
    t.assert.deepEqual(body[kind].map(pathOf), expected.slice(3, 5), `${kind}?${query}`);
  }
});
