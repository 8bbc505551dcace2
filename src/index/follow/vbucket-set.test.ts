import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VbucketSet } from './vbucket-set.ts';

test('a set has each vbucket at most once, after any additions, deletions and clears', () => {
  const set = new VbucketSet();
  for (const vb of [5, 1023, 0, 5, 7]) set.add(vb);
  assert.deepEqual([...set.values()], [5, 1023, 0, 7]);
  set.delete(5);
  set.delete(5);
  set.delete(6);
  assert.deepEqual([...set.values()].sort(), [0, 1023, 7]);
  set.add(5);
  assert.equal(set.size, 4);
  for (const vb of [7, 5, 0, 1023]) set.delete(vb);
  assert.deepEqual([set.size, [...set.values()]], [0, []]);
  set.add(1);
  set.clear();
  set.add(2);
  assert.deepEqual([...set.values()], [2]);
});
