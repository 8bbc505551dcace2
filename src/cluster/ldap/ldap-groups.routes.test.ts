import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aDirectory, onLdap as on, externalUsers as users } from '../../../test/support/ldap-directory.ts';

describe('users of groups of the LDAP server', () => {
  const groups = '/settings/rbac/groups';
  const authorized = { ...on, authorizationEnabled: 'true', groupsQuery: 'ou=g??one?(member=%D)' };
  const dba = 'cn=DBA, dc=test';

  async function aGroup() {
    const node = await aDirectory();
    const group = { roles: 'ro_admin', ldap_group_ref: dba };
    assert.equal((await node.request(`${groups}/dba`, { method: 'PUT', form: group })).status, 200);
    node.directory.memberOf = { jane: ['cn=dba,dc=test', 'cn=other,dc=test'] };
    return node;
  }

  it('have the roles of groups that refer to their LDAP groups, with or without a stored account', async () => {
    const { request, whoami, put, kv } = await aGroup();
    assert.equal((await request(`${groups}/dba`)).body.ldap_group_ref, dba);
    await request('/settings/ldap', { form: on });
    assert.deepEqual(await whoami('jane:jane-secret'), [401]);
    assert.equal(kv.desired?.admitsUnknownUsers, false);
    await request('/settings/ldap', { form: authorized });
    assert.deepEqual(await whoami('jane:jane-secret'), [200, 'jane', 'external']);
    assert.equal((await request('/pools/default', { as: 'jane:jane-secret' })).status, 200);
    assert.equal((await request('/settings/rbac/users', { as: 'jane:jane-secret' })).status, 200);
    assert.equal((await request('/settings/web', { form: {}, as: 'jane:jane-secret' })).status, 403);
    assert.equal(kv.desired?.admitsUnknownUsers, true);
    assert.ok(kv.desired?.users.some(({ name, isExternal }) => name === 'jane' && isExternal));
    await put('jane', 'replication_admin');
    const { roles, groups: own, external_groups } = (await request(`${users}/external/jane`)).body;
    assert.deepEqual([own, external_groups], [[], ['dba']]);
    assert.deepEqual(roles, [
      { role: 'replication_admin', origins: [{ type: 'user' }] },
      { role: 'ro_admin', origins: [{ type: 'group', name: 'dba' }] },
    ]);
  });

  it('are refused without such a group, with a wrong password, and after groups were disabled again', async () => {
    const { request, whoami, directory } = await aGroup();
    await request('/settings/ldap', { form: authorized });
    assert.deepEqual(await whoami('kim:kim-secret'), [401]);
    assert.deepEqual(await whoami('jane:wrong'), [401]);
    directory.memberOf = null;
    assert.deepEqual(await whoami('jane:jane-secret'), [401]);
    directory.memberOf = { jane: [dba] };
    assert.equal((await whoami('jane:jane-secret'))[0], 200);
    await request('/settings/ldap', { form: { authorizationEnabled: 'false' } });
    assert.deepEqual(await whoami('jane:jane-secret'), [401]);
  });

  it('lose their roles with the group, with the LDAP group, and when the server does not answer for a while', async () => {
    const { request, whoami, directory, clock } = await aGroup();
    await request('/settings/ldap', { form: authorized });
    const may = async () => (await request('/pools/default', { as: 'jane:jane-secret' })).status === 200;
    const nextInterval = async () => {
      clock.advance(300_000);
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    };
    await whoami('jane:jane-secret');
    assert.equal(await may(), true);
    const other = { roles: 'ro_admin', ldap_group_ref: 'cn=none,dc=test' };
    await request(`${groups}/dba`, { method: 'PUT', form: other });
    assert.deepEqual(await whoami('jane:jane-secret'), [401]);
    await request(`${groups}/dba`, { method: 'PUT', form: { ...other, ldap_group_ref: dba } });
    assert.equal(await may(), true);
    const statusOnBehalf = async () =>
      (await request('/pools/default/tasks', { as: null, headers: onBehalfOf })).status;
    const header = Buffer.from('jane:external').toString('base64');
    const onBehalfOf = {
      authorization: `Basic ${Buffer.from('Administrator:password').toString('base64')}`,
      'cb-on-behalf-of': header,
    };
    assert.equal(await statusOnBehalf(), 200);
    directory.memberOf = {};
    await nextInterval();
    assert.equal(await statusOnBehalf(), 401);
    directory.memberOf = { jane: [dba] };
    await whoami('jane:jane-secret');
    assert.equal(await statusOnBehalf(), 200);
    directory.memberOf = null;
    await nextInterval();
    assert.equal(await statusOnBehalf(), 200);
    await nextInterval();
    assert.equal(await statusOnBehalf(), 401);
    directory.memberOf = { jane: [dba] };
    await whoami('jane:jane-secret');
    assert.equal(await statusOnBehalf(), 200);
    assert.equal((await request('/settings/invalidateLDAPCache', { method: 'POST' })).status, 200);
    assert.equal(await statusOnBehalf(), 401);
  });

  it('are given roles by administrators of external users only, by a valid name', async () => {
    const { request, put } = await aDirectory();
    await put('local', 'security_admin_local', 'local');
    const store = (ref: string, as: string | undefined) =>
      request(`${groups}/g`, {
        method: 'PUT',
        form: { roles: '', ldap_group_ref: ref },
        ...(as !== undefined && { as }),
      });
    assert.equal((await store('', 'local:local-secret')).status, 200);
    assert.equal((await store(dba, 'local:local-secret')).status, 403);
    assert.equal((await store(dba, undefined)).status, 200);
    assert.equal((await store('', 'local:local-secret')).status, 403);
    assert.match((await store('dba', undefined)).body.errors.ldap_group_ref, /distinguished name/);
  });

  it('can be tested with settings that are not stored', async () => {
    const { request, directory } = await aDirectory();
    directory.memberOf = { jane: [dba] };
    const path = '/settings/ldap/validate/groupsQuery';
    const found = await request(path, { form: { groupsQuery: 'o=g', groupsQueryUser: 'jane' } });
    assert.deepEqual(found.body, { result: 'success', groups: [dba] });
    assert.equal((await request('/settings/ldap')).body.groupsQuery, undefined);
    directory.memberOf = null;
    const failed = await request(path, { form: { groupsQueryUser: 'jane' } });
    assert.deepEqual(failed.body, { result: 'error', reason: 'no answer' });
    assert.equal((await request(path, { form: {} })).status, 400);
    for (const [groupsQuery, problem] of [
      ['?x?one', 'Search base cannot be empty'],
      ['o=g?a,b?one', 'Only one attribute can be specified'],
      ['o=g??all', 'Invalid LDAP query'],
      ['o=g??one?member', 'Invalid LDAP query'],
    ] as const) {
      const refused = await request('/settings/ldap', { form: { groupsQuery } });
      assert.deepEqual([refused.status, refused.body], [400, { errors: { groupsQuery: problem } }]);
    }
  });
});
