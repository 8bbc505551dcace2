import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { emptyPlace, type Vbuckets } from '../../vbucket/vbuckets.ts';
import { DurableWrites } from './durable-writes.ts';

test('resolves only writes up to the persisted seqno of their own vbucket', () => {
  const place = (row: number) => ({ ...emptyPlace(), row, hash: 1 });
  const vbuckets = {
    pendingAt: () => 16,
    lookForPending: () => true,
    commitPending: () => {},
  } as unknown as Vbuckets;
  const resolved: [number, Status][] = [];
  const clock = new ManualClock();
  const writes = new DurableWrites({ vbuckets, clock, resolved: (...one) => void resolved.push(one) });
  const tokens = [1, 2, 4].map((seqno) => writes.add(place(0), seqno, 0));
  const other = writes.add(place(1), 1, 0);
  writes.persisted(0, 0);
  assert.deepEqual(resolved, []);
  writes.persisted(0, 1);
  assert.deepEqual(resolved, [[tokens[0], Status.success]]);
  assert.equal(writes.firstUnresolved(0), 2);
  writes.persisted(0, 3);
  assert.deepEqual(resolved.splice(0).at(-1), [tokens[1], Status.success]);
  assert.equal(writes.firstUnresolved(0), 4);
  writes.persisted(0, 4);
  writes.persisted(1, 9);
  assert.deepEqual(resolved, [
    [tokens[2], Status.success],
    [other, Status.success],
  ]);
  assert.equal(writes.firstUnresolved(0), Infinity);
  writes.clear();
});
