import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import { DurableWrites } from './durable-writes.ts';

test('only writes up to the persisted seqno of their own vbucket are resolved, and the newest resolved seqno is known', () => {
  const position = (vb: number) => ({ ...emptyPosition(), vb, hash: 1 });
  const vbuckets = {
    columns: { count: 3 },
    pendingAt: () => 16,
    locatePending: () => true,
    commitPending: () => {},
  } as unknown as Vbuckets;
  const resolved: [number, Status][] = [];
  const clock = new ManualClock();
  const persistedSeqnos = [0, 0];
  const progress = {
    reaches: (vb: number, seqno: number) => seqno <= (persistedSeqnos[vb] as number),
    lacksCopies: () => false,
    isSafeBelowMajority: () => false,
  };
  const writes = new DurableWrites({
    vbuckets,
    progress,
    clock,
    resolved: (...call) => void resolved.push(call),
  });
  const persist = (vb: number, seqno: number): void => {
    persistedSeqnos[vb] = seqno;
    writes.persisted(vb);
  };
  const level = DurabilityLevel.persistToMajority;
  const tokens = [1, 2, 4].map((seqno) => writes.add(position(0), seqno, level, 0));
  const other = writes.add(position(1), 1, level, 0);
  const newest = [4, 3, 2, 5].map((seqno) => writes.newestResolved(0, seqno));
  assert.deepEqual([...newest, writes.newestResolved(1, 1), writes.newestResolved(2, 7)], [3, 3, 0, 5, 0, 7]);
  persist(0, 0);
  assert.deepEqual(resolved, []);
  persist(0, 1);
  assert.deepEqual(resolved, [[tokens[0], Status.success]]);
  assert.equal(writes.firstUnresolved(0), 2);
  persist(0, 3);
  assert.deepEqual(resolved.splice(0).at(-1), [tokens[1], Status.success]);
  assert.equal(writes.firstUnresolved(0), 4);
  persist(0, 4);
  persist(1, 9);
  assert.deepEqual(resolved, [
    [tokens[2], Status.success],
    [other, Status.success],
  ]);
  assert.equal(writes.firstUnresolved(0), Infinity);
  writes.clear();
});
