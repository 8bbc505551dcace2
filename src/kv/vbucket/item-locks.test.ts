import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ItemLocks, locksMax } from './item-locks.ts';
import { Now } from './now.ts';

const wallMs = 1_700_000_000_000;

test('beyond the limit of locks, the next one needs another to end', () => {
  const locks = new ItemLocks();
  const now = new Now();
  now.set(wallMs, 10_000);
  const cas = { casHi: 1, casLo: 2 };
  const [early, late] = [now.lockEnd(5), now.lockEnd(15)];
  for (let seqno = 1; seqno <= locksMax; seqno++)
    assert.ok(locks.add(7, seqno, { ...cas, end: seqno === 9 ? early : late }, now));
  assert.ok(!locks.add(7, locksMax + 1, { ...cas, end: late }, now));
  assert.ok(locks.add(7, 1, { casHi: 1, casLo: 3, end: late }, now), 'a lock is replaced');
  assert.ok(locks.isCas(7, 1, 1, 3) && !locks.isCas(7, 1, 1, 2) && !locks.isCas(8, 2, 1, 2));
  now.set(wallMs, 15_000);
  assert.ok(
    locks.add(7, locksMax + 1, { ...cas, end: late }, now),
    'the place of a lock that has ended is not used',
  );
  assert.ok(locks.isCas(7, 8, 1, 2) && !locks.isCas(7, 9, 1, 2));
  locks.remove(7, 8);
  assert.ok(locks.add(7, locksMax + 2, { ...cas, end: late }, now));
  assert.equal(locks.size, locksMax);
});
