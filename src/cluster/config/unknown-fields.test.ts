// What a newer node stored and this version does not know stays in the documents of the configuration when this version changes them.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ConfigStore, update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aManager } from '../../../test/support/manager.ts';

type Doc = Record<string, unknown>;

const isDocument = (value: unknown): value is Doc =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Objects whose keys are names or ids, and small values that are replaced as a whole. */
const notExtended = [
  'roles',
  'ports',
  'password',
  'alternate',
  'network',
  'limits',
  'allowedTimePeriod',
  'databaseFragmentationThreshold',
  'viewFragmentationThreshold',
  'indexFragmentationThreshold',
  'indexCircularCompaction',
];

/** Adds a field to the document and to those in it, down to those in its lists. */
function extended(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => (isDocument(entry) ? extended(entry) : entry));
  if (!isDocument(value)) return value;
  const fields = Object.entries(value).map(([name, field]) => {
    if (name === 'byUuid')
      return [name, Object.fromEntries(Object.entries(field as Doc).map(([id, doc]) => [id, extended(doc)]))];
    return [name, notExtended.includes(name) ? field : extended(field)];
  });
  return { ...Object.fromEntries(fields), later: 'a part' };
}

const countIn = (value: unknown): number => JSON.stringify(value).split('"later":"a part"').length - 1;

/** By key: how many unknown fields it has. */
async function unknownFields(store: ConfigStore): Promise<Record<string, number>> {
  const entries = await store.list('');
  return Object.fromEntries(entries.map(({ key, value }) => [key, countIn(value)]));
}

it('unknown fields stay when buckets, collections, users, groups, nodes and settings are changed', async (t) => {
  const store = new MemoryConfigStore();
  const { request, manager } = await aManager({ store });
  t.after(() => manager.stop());
  const send = async (method: 'POST' | 'PUT' | 'PATCH', path: string, form: Doc) => {
    const isManifest = form['scopes'] !== undefined;
    const body = isManifest ? { json: form } : { form: form as Record<string, string> };
    const { status, text } = await request(path, { method, ...body });
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
  };
  const kept = [{ name: 'c' }, { name: 'c2', maxTTL: 90 }];
  const scopes = [
    { name: '_default', collections: [{ name: '_default' }] },
    { name: 's', collections: kept },
    { name: 's2', collections: [] },
  ];
  const changes: [method: 'POST' | 'PUT' | 'PATCH', path: string, form: Doc][] = [
    ['POST', '/pools/default', { clusterName: 'x', memoryQuota: '1100' }],
    ['POST', '/pools/default/buckets/b', { ramQuotaMB: '120', flushEnabled: '1' }],
    ['POST', '/pools/default/buckets/b/scopes', { name: 's2' }],
    ['POST', '/pools/default/buckets/b/scopes/s/collections', { name: 'c2' }],
    ['PATCH', '/pools/default/buckets/b/scopes/s/collections/c', { maxTTL: '60' }],
    ['PUT', '/pools/default/buckets/b/scopes', { scopes }],
    ['PUT', '/settings/rbac/users/local/u', { name: 'Ann', roles: 'admin' }],
    ['PUT', '/settings/rbac/groups/g', { roles: 'ro_admin', description: 'd' }],
    ['POST', '/settings/autoFailover', { enabled: 'true', timeout: '30' }],
    ['POST', '/settings/alerts', { enabled: 'false' }],
    ['POST', '/settings/passwordPolicy', { minLength: '5' }],
    ['POST', '/controller/setAutoCompaction', { parallelDBAndViewCompaction: 'true' }],
    ['POST', '/settings/audit', { auditdEnabled: 'true' }],
    ['POST', '/settings/ldap', { hosts: 'ldap.example.com', port: '389' }],
    ['POST', '/settings/alerts/limits', { maxDiskUsedPerc: '80' }],
    ['POST', '/settings/retryRebalance', { enabled: 'true' }],
    ['POST', '/settings/replications', { checkpointInterval: '700' }],
    ['POST', '/settings/security', { disableUIOverHttp: 'true' }],
    ['POST', '/settings/rebalance', { rebalanceMovesPerNode: '5' }],
    ['POST', '/settings/indexes', { logLevel: 'warn' }],
    ['POST', '/settings/querySettings', { queryPipelineBatch: '32' }],
    ['POST', '/internalSettings', { rebalanceMovesPerNode: '6' }],
    ['POST', '/pools/default/serverGroups', { name: 'second' }],
  ];
  await send('POST', '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '0' });
  await send('POST', '/pools/default/buckets/b/scopes', { name: 's' });
  await send('POST', '/pools/default/buckets/b/scopes/s/collections', { name: 'c' });
  await send('PUT', '/settings/rbac/groups/g', { roles: 'ro_admin' });
  await send('PUT', '/settings/rbac/users/local/u', { password: 'password', roles: 'admin', groups: 'g' });
  // Only settings that were changed are stored; without this no field could be added to the others.
  const settingsChanges = changes.slice(8, -1);
  for (const change of settingsChanges) await send(...change);

  for (const { key, value } of await store.list('')) {
    const later = extended(value);
    if (isDocument(value)) await update(store, key, value, () => later);
  }
  const before = await unknownFields(store);
  assert.ok(Object.values(before).reduce((sum, count) => sum + count, 0) > 30);
  const lost = new Set<string>();
  for (const change of changes) {
    await send(...change);
    const after = await unknownFields(store);
    for (const [key, count] of Object.entries(before)) {
      if ((after[key] ?? 0) < count)
        lost.add(`${change[1]}: ${key} had ${count} unknown fields, has ${after[key]}`);
      before[key] = Math.min(count, after[key] ?? 0);
    }
  }
  assert.deepEqual([...lost], []);
});
