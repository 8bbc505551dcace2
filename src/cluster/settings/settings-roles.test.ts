// The roles that may read and change alerts, failover settings and events, written out by hand to detect mistakes in
// declarations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager, type Sent } from '../../../test/support/manager.ts';

const roles = [
  'admin',
  'ro_admin',
  'cluster_admin',
  'security_admin_local',
  'security_admin_external',
  'bucket_admin[*]',
  'replication_admin',
  'backup_admin',
  'eventing_admin',
  'data_reader[*]',
];
/** A character for each role, in their order: `y` where it may do so. */
const reads = 'yyyyyyyyy.';
const writes = 'y.y....y..';

const alerts = { enabled: 'false', recipients: 'a@b' };
const table: [path: string, form: Sent['form'] | null, allowed: string][] = [
  ['/settings/alerts', null, reads],
  ['/settings/alerts', alerts, writes],
  ['/settings/alerts/testEmail', alerts, writes],
  ['/settings/alerts/sendTestEmail', alerts, writes],
  ['/settings/autoFailover', null, reads],
  ['/settings/autoFailover', { enabled: 'false' }, writes],
  ['/settings/autoFailover/resetCount', {}, writes],
  ['/settings/autoReprovision', null, reads],
  ['/settings/autoReprovision', { enabled: 'false' }, writes],
  ['/settings/autoReprovision/resetCount', {}, writes],
  ['/settings/failover', null, reads],
  ['/settings/failover', { preserveDurableMutations: 'true' }, writes],
  ['/logs', null, reads],
  ['/events', null, reads],
];

test('the node allows exactly the roles that may read or change alerts, failover and events', async (t) => {
  const { request, manager } = await aManager();
  t.after(() => manager.stop());
  await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
  for (const [index, role] of roles.entries()) {
    const form = { password: 'secret1', roles: role };
    const put = await request(`/settings/rbac/users/local/u${index}`, { method: 'PUT', form });
    assert.equal(put.status, 200, role);
  }
  for (const [path, form, allowed] of table) {
    let found = '';
    for (const index of roles.keys()) {
      const { status } = await request(path, { as: `u${index}:secret1`, ...(form && { form }) });
      assert.ok(status === 200 || status === 403, `${path} as ${roles[index]}: ${status}`);
      found += status === 200 ? 'y' : '.';
    }
    assert.equal(found, allowed, `${form ? 'POST' : 'GET'} ${path}`);
    assert.equal((await request(path, { as: null, ...(form && { form }) })).status, 401);
  }
});
