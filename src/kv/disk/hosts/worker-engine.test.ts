// Threads that end. A reading thread that ends by itself: reads that wait for it fail, later ones have another thread, and the bucket
// closes as usual. Threads that are stopped: nothing is reported.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { cutsOf, docsOf, docTexts } from '../../../../test/support/cuts.ts';
import { workerDiskEngine } from './worker-engine.ts';

const bucketUuid = 'e'.repeat(32);
const keys = [{ vb: 0, key: Buffer.from('a') }];

async function anOpenBucket(t: TestContext) {
  // Synchronously: calls of libuv's threads would change the order in which Node sees the end of a worker and its last message.
  const folder = mkdtempSync(join(tmpdir(), 'divan-disk-threads-'));
  const failed: string[] = [];
  const engine = workerDiskEngine({}, (thread, reason) => failed.push(`${thread}: ${reason}`));
  t.after(async () => {
    await engine.stop();
    rmSync(folder, { recursive: true });
  });
  const files = { folder, bucketUuid, incarnation: 1, fileCount: 1 };
  await engine.open(files);
  return { engine, failed, files };
}

async function aReadBucket(t: TestContext) {
  const workers: Worker[] = [];
  const noteWorker = (worker: Worker): void => void workers.push(worker);
  process.on('worker', noteWorker);
  t.after(() => process.off('worker', noteWorker));
  const { engine, failed, files } = await anOpenBucket(t);
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

test('a stop is no failure, also where the end of the thread is seen together with its last answer', async (t) => {
  const { engine, failed } = await anOpenBucket(t);
  await nextTurn(); // from here on this thread takes no messages until it waits for the stop
  const stopping = engine.stop();
  for (let tick = 0; tick < 50; tick++) await null; // now the writer has been told to stop
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300); // and here it ends
  await stopping;
  assert.deepEqual(failed, []);
});
