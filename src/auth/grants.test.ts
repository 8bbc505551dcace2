import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BucketTarget, compileGrants, fullGrants } from './grants.ts';
import { Privilege } from './privileges.ts';
import { parseRoles } from './role-names.ts';

const travel: BucketTarget = {
  uuid: 'u',
  scopes: [
    { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
    {
      name: 's',
      uid: '8',
      collections: [
        { name: 'c', uid: '9' },
        { name: 'd', uid: 'a' },
      ],
    },
  ],
};

const grants = (roles: string) =>
  compileGrants(parseRoles(roles).roles, (name) => (name === 't' ? travel : null));

const names = (bits: number | undefined) =>
  Object.entries(Privilege)
    .filter(([, bit]) => ((bits ?? 0) & bit) !== 0)
    .map(([name]) => name)
    .sort();

test('the data service grants an administrator all privileges on every bucket', () => {
  const { node, buckets } = grants('admin');
  assert.deepEqual({ node: names(node) }, { node: ['administrator', 'stats', 'systemSettings'] });
  const bucketBits = names(buckets['*']?.privileges);
  assert.equal(bucketBits.length, 14);
  assert.ok(bucketBits.includes('systemCollectionMutation'));
  assert.equal(names(fullGrants().node).length, Object.keys(Privilege).length);
});

test('the data service grants a role on a bucket named like an inherited property of objects', () => {
  for (const name of ['__proto__', 'constructor']) {
    const { buckets } = structuredClone(grants(`data_reader[${name}]`));
    assert.deepEqual(Object.keys(buckets), [name]);
    assert.ok(names(buckets[name]?.privileges).includes('read'));
  }
});

test('the data service grants data roles the privileges of published servers', () => {
  assert.deepEqual(names(grants('data_reader[t]').buckets['t']?.privileges), [
    'rangeScan',
    'read',
    'systemCollectionLookup',
  ]);
  assert.deepEqual(names(grants('data_writer[t]').buckets['t']?.privileges), ['delete', 'insert', 'upsert']);
  assert.deepEqual(names(grants('data_writer[*]').buckets['*']?.privileges), ['delete', 'insert', 'upsert']);
  const full = names(grants('bucket_full_access[t]').buckets['t']?.privileges);
  assert.ok(full.includes('systemCollectionLookup') && !full.includes('systemCollectionMutation'));
  assert.ok(full.includes('dcpProducer') && full.includes('metaWrite') && full.includes('upsert'));
  assert.deepEqual(names(grants('data_reader[t]').node), ['systemSettings']);
});

test('the data service puts the privileges of a scope or collection under its id', () => {
  const grant = grants('data_reader[t:s:c],data_writer[t:s]').buckets['t'];
  assert.equal(grant?.privileges, 0);
  assert.deepEqual(Object.keys(grant?.scopes ?? {}), ['8']);
  assert.deepEqual(names(grant?.scopes?.['8']?.privileges), ['delete', 'insert', 'upsert']);
  assert.deepEqual(Object.keys(grant?.scopes?.['8']?.collections ?? {}), ['9']);
  assert.deepEqual(names(grant?.scopes?.['8']?.collections?.['9']), [
    'delete',
    'insert',
    'rangeScan',
    'read',
    'systemCollectionLookup',
    'upsert',
  ]);
});

test('the data service omits scopes, collections and buckets that do not exist', () => {
  assert.deepEqual(grants('data_reader[t:gone]').buckets, {});
  assert.deepEqual(grants('data_reader[gone:s:c]').buckets, {});
  assert.deepEqual(
    Object.keys(grants('data_reader[t:s:gone]').buckets['t']?.scopes?.['8']?.collections ?? {}),
    [],
  );
});

test('the data service grants cluster administrators statistics, but no data', () => {
  const cluster = grants('cluster_admin');
  assert.deepEqual(names(cluster.buckets['*']?.privileges), ['simpleStats']);
  assert.deepEqual(names(cluster.node), ['administrator', 'stats', 'systemSettings']);
  assert.deepEqual(names(grants('ro_admin').buckets['*']?.privileges), ['simpleStats']);
});
