// Two requests that change one user or group: the rights of one are checked, then the other stores its change, then the first does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aManager } from '../../../test/support/manager.ts';

/** Lets another request store its change first. */
class RacedStore extends MemoryConfigStore {
  first: (() => Promise<unknown>) | null = null;

  override async put<T>(key: string, value: T, expectedRevision: number): Promise<number | null> {
    const { first } = this;
    if (key === 'users') this.first = null;
    if (key === 'users') await first?.();
    return super.put(key, value, expectedRevision);
  }
}

const rbac = '/settings/rbac';
const password = 'secret1';

test('a change is refused if its user or group gets roles meanwhile that the caller may not change', async (t) => {
  const store = new RacedStore();
  const { request } = await aManager({ store });
  const put = (path: string, form: Record<string, string>) =>
    request(`${rbac}/${path}`, { method: 'PUT', form });
  for (const domain of ['local', 'external'])
    await put(`users/local/${domain}`, { password, roles: `security_admin_${domain}` });
  const joe = 'users/local/joe';
  const eve = 'users/external/eve';
  const crew = 'groups/crew';
  const ldap = { roles: 'query_system_catalog', ldap_group_ref: 'cn=crew' };
  const race = (first: [string, Record<string, string>], path: string, sent: object, as = 'local') => ({
    first,
    path,
    sent,
    as,
  });
  const races = [
    race([joe, { roles: 'admin' }], joe, { method: 'PUT', form: { password: 'stolen1' } }),
    race([joe, { roles: 'admin' }], joe, { method: 'PATCH', form: { password: 'stolen1' } }),
    race([joe, { roles: 'admin' }], joe, { method: 'DELETE' }),
    race([joe, { groups: 'chiefs' }], joe, { method: 'DELETE' }),
    race([crew, { roles: 'admin' }], joe, { method: 'PUT', form: { groups: 'crew' } }),
    race([crew, { roles: 'admin' }], crew, { method: 'PUT', form: { roles: '' } }),
    race([crew, { roles: 'admin' }], crew, { method: 'DELETE' }),
    race([crew, ldap], crew, { method: 'DELETE' }),
    race([eve, { roles: 'admin' }], eve, { method: 'PUT', form: { roles: '' } }, 'external'),
    race([eve, { roles: 'admin' }], eve, { method: 'DELETE' }, 'external'),
  ];
  t.plan(races.length * 2);
  await put('groups/chiefs', { roles: 'admin' });
  for (const { first, path, sent, as } of races) {
    await put(joe, { password, roles: '' });
    await put(eve, { roles: '' });
    await put(crew, { roles: '' });
    store.first = () => put(...first);
    const { status } = await request(`${rbac}/${path}`, { ...sent, as: `${as}:${password}` });
    t.assert.equal(status, 403, JSON.stringify({ first, path, sent }));
    const { body } = await request(`${rbac}/${first[0]}`);
    t.assert.notDeepEqual(body.roles, [], `${path} was changed`);
  }
});

test('a password is not set for another account that got the name while it was hashed', async () => {
  const store = new RacedStore();
  const { request } = await aManager({ store });
  const joe = `${rbac}/users/local/joe`;
  const form = { password, roles: 'ro_admin' };
  await request(joe, { method: 'PUT', form });
  store.first = async () => {
    await request(joe, { method: 'DELETE' });
    await request(joe, { method: 'PUT', form: { ...form, password: 'another1' } });
  };
  const sent = { method: 'POST', form: { password: 'stolen1' }, as: `joe:${password}` } as const;
  assert.equal((await request('/controller/changePassword', sent)).status, 404);
  assert.equal((await request('/whoami', { as: 'joe:another1' })).status, 200);
});

test('a user who changes their own password does not replace one that was set while the new one was hashed', async () => {
  const store = new RacedStore();
  const { request } = await aManager({ store });
  const joe = `${rbac}/users/local/joe`;
  await request(joe, { method: 'PUT', form: { password, roles: 'ro_admin' } });
  store.first = () => request(joe, { method: 'PATCH', form: { password: 'reset12' } });
  const sent = { form: { password: 'stolen1' }, as: `joe:${password}` };
  assert.equal((await request('/controller/changePassword', sent)).status, 409);
  assert.equal((await request('/whoami', { as: 'joe:reset12' })).status, 200);
});

test('an administrator who changes their own password does not replace a new administrator', async () => {
  const store = new RacedStore();
  const { request } = await aManager({ store });
  const next = { port: 'SAME', username: 'next', password: 'reset12' };
  store.first = () => request('/settings/web', { form: next });
  const sent = { form: { password: 'stolen1' } };
  assert.equal((await request('/controller/changePassword', sent)).status, 409);
  assert.equal((await request('/pools/default', { as: 'next:reset12' })).status, 200);
});
