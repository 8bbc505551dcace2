import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resumedAttempt } from './resumed-attempt.ts';

test('an attempt is resumed only if txdata names it, and txdata with a wrong member is refused', () => {
  assert.equal(resumedAttempt(undefined), null);
  assert.equal(resumedAttempt({ kv: true }), null);
  const id = { atmpt: 'a-1', txn: 't-1' };
  assert.equal(resumedAttempt({ id })?.id, 'a-1');
  const withLevel = (durabilityLevel: string) => resumedAttempt({ id, config: { durabilityLevel } });
  assert.equal(withLevel('MAJORITY')?.durability, 'majority');
  assert.equal(withLevel('constructor')?.durability, null);
  for (const wrong of [
    { id: 'a' },
    { id: { atmpt: 'a.b', txn: 't' } },
    { id: { atmpt: 'a' } },
    { id, mutations: {} },
    { id, mutations: [{ bkt: 'b' }] },
    { id, mutations: [{ bkt: 'b', scp: 's', coll: 'c', id: 'k', type: 'OTHER' }] },
    { id, mutations: [{ bkt: 'b', scp: 's', coll: 'c', id: 'k', type: 'constructor' }] },
    { id, atr: { bkt: 'b', id: 'my document' } },
  ])
    assert.throws(() => resumedAttempt(wrong), /txdata/);
});
