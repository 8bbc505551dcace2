import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePermission } from './permission.ts';
import { allows, type GrantedRole, holdsRole } from './role-rules.ts';
import { roleCatalog } from './roles/index.ts';

const role = (text: string): GrantedRole => {
  const [, id, inside] = /^(\w+)(?:\[(.*)\])?$/.exec(text) as unknown as [string, string, string?];
  return { role: id, names: inside?.split(':').map((name) => (name === '*' ? null : name)) ?? [] };
};

const can = (roles: string, permission: string) => {
  const parsed = parsePermission(permission);
  assert.ok(parsed, permission);
  return allows(roles.split(',').map(role), parsed);
};

// The published permissions of administrative roles (compatibility 7.1).
const columns = [
  'admin',
  'ro_admin',
  'cluster_admin',
  'security_admin_local',
  'security_admin_external',
  'bucket_admin[t]',
  'replication_admin',
  'backup_admin',
  'eventing_admin',
];
const matrix: [string, string][] = [
  ['pools!read', 'yyyyyyyyy'],
  ['pools!write', 'y.y....y.'],
  ['bucket[t].settings!read', 'yyyyyyyyy'],
  ['bucket[other].settings!read', 'yyyyyyyyy'],
  ['bucket[t].settings!write', 'y.y..y.yy'],
  ['bucket[other].settings!write', 'y.y....yy'],
  ['buckets!create', 'y.y....yy'],
  ['bucket[t]!delete', 'y.y..y.yy'],
  ['bucket[t]!flush', 'y.y..y.yy'],
  ['bucket[t]!compact', 'y.y..y.yy'],
  ['bucket[t].stats!read', 'yyyyyyyyy'],
  ['bucket[t].collections!read', 'yyyyyyyyy'],
  ['bucket[t].collections!write', 'y.y..y.yy'],
  ['settings!read', 'yyyyyyyyy'],
  ['settings!write', 'y.y....y.'],
  ['settings.autocompaction!read', 'yyyyyyyyy'],
  ['settings.indexes!read', 'yyyyyyyyy'],
  ['settings.autocompaction!write', 'y.y....y.'],
  ['settings.indexes!write', 'y.y....y.'],
  ['admin.settings!read', 'y.yy.....'],
  ['admin.settings!write', 'y.y......'],
  ['admin.security!read', 'yy.yy....'],
  ['admin.security!write', 'y..yy....'],
  ['admin.security.admin!write', 'y........'],
  ['admin.security.local!write', 'y..y.....'],
  ['admin.security.external!write', 'y...y....'],
  ['admin.setup!write', 'y.y......'],
  ['admin.memcached!read', 'y.yyy....'],
  ['admin.memcached!write', 'y.y......'],
  ['tasks!read', 'yyyyyyyyy'],
  ['nodes!read', 'yyyyyyyyy'],
  ['logs!read', 'yyyyyyyyy'],
  ['admin.logs!read', 'y.y......'],
  ['server_groups!write', 'y.y....y.'],
  ['xdcr.remote_clusters!read', 'yyy...yy.'],
  ['xdcr.settings!read', 'yyy...yy.'],
  ['xdcr.remote_clusters!write', 'y.y...yy.'],
  ['xdcr.settings!write', 'y.y...yy.'],
  ['bucket[t].xdcr!read', 'yyyyyyyy.'],
  ['bucket[t].xdcr!write', 'y.y...yy.'],
  ['bucket[t].xdcr!execute', 'y.y..yyy.'],
  ['admin.stats_export!read', 'yyyyy....'],
];

test('every administrative role has its published permissions', (t) => {
  t.plan(matrix.length);
  for (const [permission, expected] of matrix) {
    const computed = columns.map((column) => (can(column, `cluster.${permission}`) ? 'y' : '.')).join('');
    t.assert.equal(computed, expected, permission);
  }
});

test('a role is limited to its bucket, scope and collection', () => {
  const reader = 'data_reader[t:s:c]';
  assert.ok(can(reader, 'cluster.collection[t:s:c].data.docs!read'));
  assert.ok(!can(reader, 'cluster.collection[t:s:d].data.docs!read'));
  assert.ok(!can(reader, 'cluster.collection[t:x:c].data.docs!read'));
  assert.ok(
    !can(reader, 'cluster.bucket[t].data.docs!read'),
    'a role on one collection gives access to the whole bucket',
  );
  assert.ok(
    can(reader, 'cluster.collection[t:.:.].data.docs!read'),
    'a role on one collection gives no access to any collection of the bucket',
  );
  assert.ok(can(reader, 'cluster.bucket[t].settings!read'));
  assert.ok(!can(reader, 'cluster.bucket[u].settings!read'));
  assert.ok(can('data_reader[t:*:*]', 'cluster.bucket[t].data.docs!read'));
  assert.ok(can('data_reader[*:*:*]', 'cluster.bucket[*].data.docs!read'));
  assert.ok(!can('data_reader[t:*:*]', 'cluster.bucket[*].data.docs!read'));
});

test('a role is limited to a scope', () => {
  assert.ok(can('scope_admin[t:s]', 'cluster.scope[t:s].collections!write'));
  assert.ok(!can('scope_admin[t:s]', 'cluster.scope[t:x].collections!write'));
  assert.ok(!can('scope_admin[t:s]', 'cluster.bucket[t].collections!write'));
  assert.ok(
    !can('scope_admin[t:s]', 'cluster.bucket[t].settings!read'),
    'a scope role does not include the bucket',
  );
  assert.ok(can('bucket_admin[t]', 'cluster.scope[t:s].collections!write'));
});

test('the first matching pattern of a role decides, and one role that allows suffices', () => {
  assert.ok(!can('bucket_admin[t]', 'cluster.bucket[t].data.docs!read'));
  assert.ok(can('bucket_admin[t],data_reader[t:*:*]', 'cluster.bucket[t].data.docs!read'));
  assert.ok(!can('unheard_of', 'cluster.pools!read'));
  assert.ok(can('bucket_full_access[t]', 'cluster.bucket[t]!flush'));
  assert.ok(!can('bucket_full_access[t]', 'cluster.bucket[t].data.docs!swrite'));
});

test('security_admin includes both of the roles that it was divided into', () => {
  assert.ok(holdsRole([role('security_admin_external')], 'security_admin'));
  assert.ok(holdsRole([role('security_admin_local')], 'security_admin'));
  assert.ok(!holdsRole([role('ro_admin')], 'security_admin'));
  assert.ok(holdsRole([role('bucket_admin[*]')], 'bucket_admin', ['t']));
  assert.ok(holdsRole([role('bucket_admin[t]')], 'bucket_admin', ['t']));
  assert.ok(!holdsRole([role('bucket_admin[u]')], 'bucket_admin', ['t']));
});

test('every pattern of the catalog is well formed, and every id unique', () => {
  const ids = new Set(roleCatalog.map((definition) => definition.id));
  assert.equal(ids.size, roleCatalog.length);
  for (const { id } of roleCatalog) can(id, 'cluster.no.such.thing!read');
  const community = roleCatalog
    .filter((definition) => definition.community)
    .map((definition) => definition.id);
  assert.deepEqual(community, ['admin', 'ro_admin', 'bucket_full_access']);
});
