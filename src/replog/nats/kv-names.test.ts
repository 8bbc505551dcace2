import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyOfSubject, keySubject } from './kv-names.ts';

test('every key has a subject of its own, from which the key is read back', () => {
  for (const key of ['cluster', 'map/1-2_3', 'a.b', 'ü ', '=2e', '*', '>', '😀', 'a=b'])
    assert.equal(keyOfSubject('b', keySubject('b', key)), key);
  assert.equal(keySubject('b', 'settings/a.b'), '$KV.b.settings/a=2eb');
  for (const foreign of ['$KV.b.a.b', '$KV.c.a', '$KV.b.=41', '$KV.b.a=zz'])
    assert.equal(keyOfSubject('b', foreign), null);
});
