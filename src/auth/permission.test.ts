import { test } from 'node:test';
import { parsePermission, permissionText } from './permission.ts';

test('permissions are parsed, and other texts refused', (t) => {
  const valid = [
    'cluster!read',
    'cluster.a.b!write',
    'cluster.bucket[t.x%-_].settings!read',
    'cluster.collection[b:.:c].x!y',
  ];
  const invalid = [
    '',
    'cluster',
    'admin!read',
    'cluster.!x',
    'cluster.a',
    'cluster.a!',
    'cluster.bucket[]!x',
    'cluster.bucket!x',
    'cluster.bucket[a:b]!x',
    'cluster.scope[a]!x',
    'cluster.admin[x]!y',
    'cluster.a!b!c',
    'cluster.bucket[a!x',
  ];
  t.plan(valid.length + invalid.length);
  for (const text of valid) {
    const parsed = parsePermission(text);
    t.assert.equal(parsed && permissionText(parsed), text);
  }
  for (const text of invalid) t.assert.equal(parsePermission(text), null, text);
});
