// A reading thread that ends by itself: reads that wait for it fail, later ones have another thread, and the bucket closes as usual.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { cutsOf, docsOf, docTexts } from '../../../../test/support/cuts.ts';
import { workerDiskEngine } from './worker-engine.ts';

const bucketUuid = 'e'.repeat(32);
const keys = [{ vb: 0, key: Buffer.from('a') }];

async function aReadBucket(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'divan-reader-'));
  const workers: Worker[] = [];
  const noteWorker = (worker: Worker): void => void workers.push(worker);
  process.on('worker', noteWorker);
  const failed: string[] = [];
  const engine = workerDiskEngine({}, (thread, reason) => failed.push(`${thread}: ${reason}`));
  t.after(async () => {
    process.off('worker', noteWorker);
    await engine.stop();
    await rm(folder, { recursive: true });
  });
  const files = { folder, bucketUuid, incarnation: 1, fileCount: 1 };
  await engine.open(files);
  await engine.commit(bucketUuid, 0, cutsOf([{ key: 'a', value: 'v', seqno: 1 }]));
  const read = async () => docTexts(docsOf((await engine.fetchItems(bucketUuid, 0, keys)).batch));
  assert.deepEqual(await read(), ['0 1 a=v']);
  const [, reader] = workers as [Worker, Worker];
  return { engine, failed, files, read, reader };
}

test('another thread reads after one has ended, and the end is reported once', async (t) => {
  const { failed, read, reader } = await aReadBucket(t);
  const waiting = read();
  await Promise.all([reader.terminate(), assert.rejects(waiting, /the disk worker ended with code 1/)]);
  assert.deepEqual(await read(), ['0 1 a=v']);
  assert.deepEqual(failed, ['disk reader: the disk worker ended with code 1']);
});

test('a bucket whose reading thread has ended closes and opens again', async (t) => {
  const { engine, files, read, reader } = await aReadBucket(t);
  await reader.terminate();
  await engine.close(bucketUuid);
  await assert.rejects(read(), /is not open/);
  const { opened } = await engine.open(files);
  assert.equal(opened.length, 1);
  assert.deepEqual(await read(), ['0 1 a=v']);
});
