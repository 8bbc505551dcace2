import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { IndexProgress, unknownSeqno } from './index-progress.ts';

test('a position set by another thread never combines the seqno of one history with the uuid of another', async () => {
  const progress = new IndexProgress();
  const vb = 7;
  const writer = new Worker(new URL('../../test/support/position-writer.ts', import.meta.url), {
    workerData: { buffer: progress.buffer, vb, histories: 500_000 },
  });
  const ended = new Promise((resolve) => writer.once('exit', resolve));
  await new Promise((resolve) => writer.once('online', resolve));
  let [seen, mixed] = [0, 0];
  do {
    const { completeSeqno, uuid } = progress.position(vb);
    if (completeSeqno === unknownSeqno || uuid === 0n) continue;
    seen++;
    if (BigInt(completeSeqno) !== uuid) mixed++;
  } while (progress.commits === 0);
  await ended;
  assert.ok(seen > 0);
  assert.equal(mixed, 0, `of ${seen} positions`);
});
