import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../../test/support/a-bucket.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
const start = (disk: MemoryDisk) => new BucketUnderTest({ storage: { disk: disk.engine(), files } }).start();

async function runBackground(b: BucketUnderTest, ms = 20): Promise<void> {
  for (let i = 0; i < 5; i++) {
    b.tick(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a full disk causes temporary failures, loses nothing, and is written to again once there is space', async () => {
  const disk = new MemoryDisk();
  const b = await start(disk);
  b.store('before');
  await runBackground(b);
  disk.isFull = true;
  for (let vb = 0; vb < 8; vb++) assert.equal(b.store(`k${vb}`, { vb }), Status.success);
  assert.equal(b.store('durable', { vb: 9, durability: DurabilityLevel.persistToMajority }), Status.success);
  const token = b.result.pending;
  await runBackground(b);
  assert.match(b.bucket.writeFailure ?? '', /no space/);
  assert.equal(b.store('new'), Status.temporaryFailure);
  assert.equal(b.remove('before'), Status.temporaryFailure);
  for (let vb = 0; vb < 8; vb++) assert.equal(b.find(`k${vb}`, vb), Status.success);
  assert.equal(b.bucket.documents.persistedSeqno(3), 0);
  assert.equal(b.resolved.has(token), false);
  disk.isFull = false;
  await runBackground(b, 600);
  assert.equal(b.bucket.writeFailure, null);
  assert.equal(b.resolved.get(token), Status.success);
  assert.equal(b.store('new'), Status.success);
  await b.bucket.stop();
  const second = await start(disk);
  assert.equal(second.bucket.stats().items, 11);
  await second.bucket.stop();
});

test('a full disk that only a write of states has met is written to again once there is space', async () => {
  const disk = new MemoryDisk();
  const b = await start(disk);
  await runBackground(b, 100);
  disk.isFull = true;
  assert.deepEqual(await b.bucket.writeStates([3]), []);
  assert.equal(b.store('refused'), Status.temporaryFailure);
  await runBackground(b, 600);
  disk.isFull = false;
  await runBackground(b, 600);
  assert.equal(b.bucket.writeFailure, null);
  assert.equal(b.store('taken'), Status.success);
  await b.bucket.stop();
});

test('a disk that filled while a client began to wait for it during a pause is written to again once there is space', async () => {
  const disk = new MemoryDisk();
  const b = await start(disk);
  await runBackground(b, 100);
  b.store('k');
  disk.isFull = true;
  const writing = b.bucket.writeAll();
  b.store('durable', { durability: DurabilityLevel.persistToMajority });
  const token = b.result.pending;
  assert.equal(await writing, false);
  assert.match(b.bucket.writeFailure ?? '', /no space/);
  disk.isFull = false;
  await runBackground(b, 600);
  assert.equal(b.bucket.writeFailure, null);
  assert.equal(b.resolved.get(token), Status.success);
  await b.bucket.stop();
});

test('a stop while the disk is full completes, and the next start knows that changes may be missing', async () => {
  const disk = new MemoryDisk();
  const b = await start(disk);
  b.store('before');
  await runBackground(b);
  disk.isFull = true;
  b.store('lost');
  await runBackground(b);
  await b.bucket.stop();
  disk.isFull = false;
  const { opened } = await disk.engine().open(files);
  assert.equal(opened[0]?.clean, false);
  assert.equal(opened[1]?.clean, true);
});

test('a commit that fails for another reason while the disk is full ends writing', async () => {
  const disk = new MemoryDisk();
  const b = await start(disk);
  disk.isFull = true;
  b.store('k');
  await runBackground(b);
  disk.isFull = false;
  disk.failNextWrite('fsync failed');
  await runBackground(b, 600);
  assert.match(b.bucket.writeFailure ?? '', /fsync failed/);
  await runBackground(b, 600);
  assert.equal(b.store('k'), Status.temporaryFailure);
  assert.equal(b.find('k'), Status.success);
});

for (const hasSpace of [false, true])
  test(`${hasSpace ? 'after the disk was full' : 'while the disk is full'}, states of vbuckets are written after the changes that wait`, async () => {
    const disk = new MemoryDisk();
    const b = await start(disk);
    disk.isFull = true;
    b.store('waiting');
    await runBackground(b);
    b.bucket.documents.writeRefusal = Status.success;
    b.store('later');
    disk.isFull = !hasSpace;
    const written = await Promise.all([b.bucket.writeStates([0, 4]), b.bucket.writeStates([4])]);
    assert.deepEqual(written, hasSpace ? [[0, 4], [4]] : [[], []]);
    assert.equal(b.bucket.documents.persistedSeqno(0), hasSpace ? 2 : 0);
    disk.isFull = false;
    await runBackground(b, 600);
    assert.equal(b.bucket.documents.persistedSeqno(0), 2);
    await b.bucket.stop();
    const second = await start(disk);
    assert.deepEqual([second.find('waiting'), second.find('later')], [Status.success, Status.success]);
    await second.bucket.stop();
  });

test('a bucket that is flushed while its disk is full writes nothing of a state write that had begun', async () => {
  const disk = new MemoryDisk();
  const engine = disk.engine();
  const commit = engine.commit.bind(engine);
  const gate = Promise.withResolvers<void>();
  let commits = 0;
  const b = await new BucketUnderTest({ storage: { disk: engine, files } }).start();
  await runBackground(b, 100);
  engine.commit = async (...batch) => {
    if (commits++ === 0) await gate.promise;
    return await commit(...batch);
  };
  b.store('waiting');
  await runBackground(b);
  assert.equal(commits, 1);
  for (let i = 0; i < 4; i++) b.store(`before ${i}`, { vb: 4, value: 'v'.repeat(100_000) });
  const written = b.bucket.writeStates([4]);
  disk.isFull = true;
  gate.resolve();
  await runBackground(b);
  assert.deepEqual(await written, []);
  disk.isFull = false;
  await b.bucket.flush(2);
  assert.equal(b.store('after'), Status.success);
  await runBackground(b, 100);
  await b.bucket.stop();
  const second = await new BucketUnderTest({
    storage: { disk: disk.engine(), files: { ...files, incarnation: 2 } },
  }).start();
  assert.equal(second.find('after'), Status.success);
  assert.equal(second.bucket.stats().items, 1);
  await second.bucket.stop();
});
