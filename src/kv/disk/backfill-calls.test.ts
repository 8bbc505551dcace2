// Pages that are read by one call of the reading thread.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backfillPageBytes } from '../data/disk-engine.ts';
import { BackfillCalls } from './backfill-calls.ts';

const positions = { toSeqno: 1, endSeqno: 1, purgeSeqno: 0 };

test('pages share their memory, which the last of them frees', async () => {
  const batch = new Uint8Array([1, 2, 3]);
  const read = async () => ({
    batch,
    pages: [
      { start: 0, end: 2, ...positions },
      { file: 0, path: 'data', reason: 'damaged' },
      { start: 2, end: 3, ...positions },
    ],
  });
  const calls = new BackfillCalls(read);
  const asked = [0, 1, 2].map((vb) => calls.page('b', 0, { vb, afterSeqno: 0, targetBytes: 10 }));
  const [first, damaged, last] = await Promise.allSettled(asked);
  assert.ok(first?.status === 'fulfilled' && last?.status === 'fulfilled');
  assert.equal(damaged?.status, 'rejected');
  assert.deepEqual([[...first.value.batch], [...last.value.batch]], [[1, 2], [3]]);
  first.value.free?.();
  assert.deepEqual([...last.value.batch], [3]);
  last.value.free?.();
  assert.equal(batch.length, 0);
});

test('a call takes the requests of one turn and one file, up to the size of a full page', async () => {
  const sizes: number[] = [];
  const calls = new BackfillCalls(async (_bucket, _file, requests) => {
    sizes.push(requests.length);
    return { batch: new Uint8Array(0), pages: requests.map(() => ({ start: 0, end: 0, ...positions })) };
  });
  const small = { vb: 0, afterSeqno: 0, targetBytes: backfillPageBytes / 4 };
  const asked = Array.from({ length: 9 }, () => calls.page('b', 0, small));
  asked.push(calls.page('b', 1, small), calls.page('b', 0, { ...small, targetBytes: backfillPageBytes }));
  await Promise.all(asked);
  assert.deepEqual(
    sizes.sort((a, b) => a - b),
    [1, 1, 1, 4, 4],
  );
  await calls.page('b', 0, small);
  assert.equal(sizes.length, 6);
});
