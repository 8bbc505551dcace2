// The size and the order of the batches that a flusher writes, and which of them wait while a shard moves to this node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../../test/support/a-bucket.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
const vb = 3;

async function started() {
  const disk = new MemoryDisk().engine();
  const b = new BucketUnderTest({ storage: { disk, files }, priority: 'low' });
  await b.start();
  await b.advance(1000);
  return { b, commit: disk.commit.bind(disk), disk };
}

const persisted = (b: BucketUnderTest): number => b.bucket.documents.persistedSeqno(vb);

test('while a handover is near even a whole batch waits, for half a second, unless memory is short or a client waits for the disk', async () => {
  const { b } = await started();
  const { bucket } = b;
  const large = (): void => {
    for (let i = 0; i < 5; i++) b.store(`k${i}`, { vb, value: Buffer.alloc(256 * 1024) });
  };
  bucket.setRules({ quotaBytes: 1024 * 1024 * 1024 });
  bucket.delayDiskWork({ flushes: true, checkpoints: true });
  large();
  await b.advance(495);
  assert.equal(persisted(b), 0);
  await b.advance(20);
  assert.equal(persisted(b), 5, 'further batches wait for another half second');
  bucket.delayDiskWork({ flushes: true, checkpoints: true });
  b.store('polled', { vb });
  bucket.documents.watchPersisted(vb);
  await b.advance(5);
  assert.equal(persisted(b), 6);
  large();
  bucket.setRules({ quotaBytes: (bucket.documents.memUsed + 1000) / 0.75 });
  await b.advance(40);
  assert.equal(persisted(b), 11);
});

test('while a handover is near, what a client waits for is written at once behind more than a batch of other changes', async () => {
  const { b } = await started();
  b.bucket.delayDiskWork({ flushes: true, checkpoints: true });
  for (let i = 0; i < 20; i++) b.store(`k${i}`, { vb, value: Buffer.alloc(256 * 1024) });
  b.store('durable', { vb: vb + 4, durability: DurabilityLevel.persistToMajority });
  const token = b.result.pending;
  await b.advance(50);
  assert.equal(b.resolved.get(token), Status.success);
});

test('batches become smaller when the disk is slow, and not because they wait for commits of other files', async () => {
  const { b, commit, disk } = await started();
  const batches: number[] = [];
  let writingMs = 10;
  disk.commit = async (bucketUuid, file, cuts, isUrgent) => {
    batches.push(cuts.length);
    await b.clock.sleep(200);
    await commit(bucketUuid, file, cuts, isUrgent);
    return writingMs;
  };
  const write = async (): Promise<number> => {
    for (let i = 0; i < 30; i++) b.store(`k${i}`, { vb, value: 'v'.repeat(100_000) });
    batches.length = 0;
    await b.advance(10_000);
    return batches[0] as number;
  };
  const first = await write();
  assert.ok((await write()) >= first, `${batches}`);
  writingMs = 200;
  await write();
  assert.ok((await write()) < first, `${batches}`);
});

test('a write of states does not wait for batches that are encoded after it', async () => {
  const { b, commit, disk } = await started();
  const done: string[] = [];
  disk.commit = async (...batch) => {
    await b.clock.sleep(10);
    done.push('commit');
    return await commit(...batch);
  };
  b.store('k', { vb });
  const write = async (vbs: readonly number[], name: string): Promise<void> => {
    await b.bucket.writeStates(vbs);
    done.push(name);
  };
  const written = [write([vb], 'first'), write([vb + 4], 'second')];
  await b.advance(100);
  await Promise.all(written);
  assert.deepEqual(done, ['commit', 'first', 'commit', 'second']);
});
