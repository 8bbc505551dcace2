import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resumedAttempt } from './resumed-attempt.ts';

test('txdata with a wrong member is refused', () => {
  assert.equal(resumedAttempt(undefined), null);
  assert.equal(resumedAttempt({ kv: true }), null);
  const id = { atmpt: 'a-1', txn: 't-1' };
  assert.equal(resumedAttempt({ id })?.id, 'a-1');
  for (const wrong of [
    { id: 'a' },
    { id: { atmpt: 'a.b', txn: 't' } },
    { id: { atmpt: 'a' } },
    { id, mutations: {} },
    { id, mutations: [{ bkt: 'b' }] },
    { id, mutations: [{ bkt: 'b', scp: 's', coll: 'c', id: 'k', type: 'OTHER' }] },
    { id, atr: { bkt: 'b', id: 'my document' } },
  ])
    assert.throws(() => resumedAttempt(wrong), /txdata/);
});
