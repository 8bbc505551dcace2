import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromStart, VbProgress } from './vb-progress.ts';

test('the position is the last seqno up to which all versions are acknowledged, also when they arrive out of order', () => {
  const progress = new VbProgress();
  progress.reset(fromStart);
  progress.uuid = 7n;
  progress.beginSnapshot(1, 9);
  const [first, second, third] = [2, 5, 9].map((seqno) => progress.add(seqno));
  assert.ok(first && second && third);
  progress.done(second);
  assert.equal(progress.seqno, 0);
  progress.done(first);
  assert.deepEqual(progress.position(), { uuid: 7n, seqno: 5, snapshotStart: 1, snapshotEnd: 9 });
  progress.done(third);
  assert.deepEqual(progress.position(), { uuid: 7n, seqno: 9, snapshotStart: 9, snapshotEnd: 9 });
});

test('the position passes seqnos without a version only when every version before them is acknowledged', () => {
  const progress = new VbProgress();
  progress.reset(fromStart);
  progress.beginSnapshot(1, 4);
  const change = progress.add(3);
  progress.pass(4);
  assert.equal(progress.seqno, 0);
  progress.done(change);
  assert.equal(progress.seqno, 4);
});

test('acknowledgements of versions that an earlier stream delivered have no effect', () => {
  const progress = new VbProgress();
  progress.reset(fromStart);
  progress.beginSnapshot(1, 10);
  const old = progress.add(8);
  progress.reset(fromStart);
  progress.beginSnapshot(1, 10);
  progress.add(5);
  progress.done(old);
  assert.equal(progress.seqno, 0);
});

test('the position reaches the end of thousands of versions that are acknowledged out of order', () => {
  const progress = new VbProgress();
  progress.reset(fromStart);
  progress.beginSnapshot(1, 3000);
  const changes = Array.from({ length: 3000 }, (_, index) => progress.add(index + 1));
  for (const change of changes.filter((_, index) => index % 2 === 1)) progress.done(change);
  for (const change of changes.filter((_, index) => index % 2 === 0)) progress.done(change);
  assert.equal(progress.seqno, 3000);
});
