import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BucketUnderTest } from '../../../../test/support/a-bucket.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { VbucketState } from '../../data/vbucket-state.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';
import type { BucketOptions } from '../bucket-parts.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
const vb = 3;

async function aBucket(options: Pick<Partial<BucketOptions>, 'priority'> = {}): Promise<BucketUnderTest> {
  const b = new BucketUnderTest({ storage: { disk: new MemoryDisk().engine(), files }, ...options });
  await b.start();
  await b.advance(1000);
  return b;
}

/** Another node is a member of the vbucket's in-sync set, too. */
const addMember = (b: BucketUnderTest, copied: number): void =>
  b.bucket.progress.setMembers(copied, { others: ['b'], size: 2, isFrozen: false });

/** The vbucket's other member has received all that there is. */
const receive = (b: BucketUnderTest, copied: number): void =>
  b.bucket.progress.copied(copied, 'b', b.bucket.columns.highSeqno[copied] as number, 0);

const persisted = (b: BucketUnderTest): number => b.bucket.documents.persistedSeqno(vb);

test('changes are written together after 80 ms when no client waits for them', async () => {
  const b = await aBucket();
  b.store('k', { vb });
  await b.advance(75);
  assert.equal(persisted(b), 0);
  b.store('other', { vb });
  await b.advance(5);
  assert.equal(persisted(b), 2);
  b.store('k', { vb });
  await b.advance(75);
  assert.equal(persisted(b), 2, 'later changes wait as long');
  await b.advance(5);
  assert.equal(persisted(b), 3);
});

test('under load changes are written together after 500 ms, and 20 ms after the load ends', async () => {
  const b = await aBucket();
  const storeFor = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5) {
      for (let i = 0; i < 16; i++) b.store(`k${i}`, { vb });
      await b.advance(5);
    }
  };
  await storeFor(495);
  assert.equal(persisted(b), 0);
  await storeFor(5);
  assert.equal(persisted(b), 1600);
  await storeFor(240);
  assert.equal(persisted(b), 1600);
  await b.advance(40);
  assert.equal(persisted(b), 1600 + 48 * 16);
});

test('under load each fourth flush writes the changes that other nodes have, and so does a flush that a client waits for', async () => {
  const b = await aBucket();
  const [copy, other, copied] = [vb + 4, vb + 8, vb + 12];
  b.bucket.columns.state[copy] = VbucketState.replica;
  addMember(b, copied);
  let changes = 0;
  const storeFor = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5) {
      b.bucket.columns.state[copy] = VbucketState.active;
      for (let i = 0; i < 16; i++) for (const each of [vb, copy, copied]) b.store(`k${i}`, { vb: each });
      b.bucket.columns.state[copy] = VbucketState.replica;
      receive(b, copied);
      changes += 16;
      await b.advance(5);
    }
  };
  const onDisk = (): number[] => [vb, copy, copied].map((each) => b.bucket.documents.persistedSeqno(each));
  for (let flush = 0; flush < 3; flush++) {
    await storeFor(500);
    assert.deepEqual(onDisk(), [changes, 0, 0]);
  }
  await storeFor(500);
  const written = changes;
  assert.deepEqual(onDisk(), [written, written, written]);
  await storeFor(500);
  assert.deepEqual(onDisk(), [changes, written, written]);
  b.store('durable', { vb: other, durability: DurabilityLevel.persistToMajority });
  await b.advance(5);
  assert.deepEqual(onDisk(), [changes, changes, changes]);
  await storeFor(500);
  b.bucket.progress.setMembers(copied, { others: [], size: 1, isFrozen: false });
  await storeFor(500);
  assert.deepEqual(onDisk(), [changes, changes - 2 * 1600, changes], 'no other node has them any more');
  await b.advance(160);
  assert.deepEqual(onDisk(), [changes, changes, changes], 'without load nothing waits longer');
});

test('load lasts over a short pause of clients, and few changes are enough load to defer the changes that other nodes have', async () => {
  const b = await aBucket();
  const copied = vb + 4;
  addMember(b, copied);
  const storeFor = async (ms: number, each: number, count: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5) {
      for (let i = 0; i < count; i++) b.store(`k${i}`, { vb: each });
      receive(b, copied);
      await b.advance(5);
    }
  };
  await storeFor(200, vb, 64);
  await b.advance(40);
  await storeFor(255, vb, 64);
  assert.equal(persisted(b), 0, 'clients that wait for a processor continue');
  await storeFor(5, vb, 64);
  assert.equal(persisted(b), 92 * 64);
  await b.advance(1_000);
  await storeFor(1_800, copied, 2);
  assert.equal(b.bucket.documents.persistedSeqno(copied), 0);
  await storeFor(160, copied, 2);
  assert.ok(b.bucket.documents.persistedSeqno(copied) > 2 * 360);
});

test('changes that other nodes have are written within two seconds, even more than fit into a batch', async () => {
  const b = await aBucket();
  const { columns, documents } = b.bucket;
  const copied = Array.from({ length: columns.count / 4 }, (_, each) => vb + 4 * each).slice(0, 8);
  for (const each of copied) addMember(b, each);
  const value = Buffer.alloc(2048);
  const waiting: { each: number; seqno: number; sinceMs: number }[] = [];
  let longestMs = 0;
  for (let nowMs = 0, n = 0; nowMs < 8_000; nowMs += 5) {
    for (let i = 0; i < 3; i++) {
      const each = copied[n % copied.length] as number;
      b.store(`k${n++}`, { vb: each, value });
      receive(b, each);
      waiting.push({ each, seqno: columns.highSeqno[each] as number, sinceMs: nowMs });
    }
    await b.advance(5);
    const left = waiting.filter(({ each, seqno }) => seqno > documents.persistedSeqno(each));
    waiting.splice(0, waiting.length, ...left);
    longestMs = Math.max(longestMs, nowMs - (waiting[0]?.sinceMs ?? nowMs));
  }
  assert.ok(longestMs > 1_500 && longestMs <= 2_000, `${longestMs} ms`);
});

test('changes that no other node has are not written more often while more than a batch of other changes waits', async () => {
  const b = await aBucket();
  const copied = vb + 4;
  addMember(b, copied);
  const value = Buffer.alloc(2048);
  let commits = 0;
  let [before, n] = [0, 0];
  for (let nowMs = 0; nowMs < 6_000; nowMs += 5) {
    for (let i = 0; i < 3; i++) b.store(`k${n++}`, { vb: copied, value });
    receive(b, copied);
    b.store('own', { vb });
    await b.advance(5);
    if (persisted(b) > before) commits++;
    before = persisted(b);
  }
  assert.ok(commits >= 50 && commits <= 90, `${commits} commits in six seconds`);
});

test('changes that a silent member has not received do not wait for a later flush', async () => {
  const b = await aBucket();
  const copied = vb + 4;
  addMember(b, copied);
  for (let passed = 0; passed < 1_000; passed += 5) {
    for (let i = 0; i < 16; i++) b.store(`k${i}`, { vb: copied });
    if (passed < 300) receive(b, copied);
    await b.advance(5);
  }
  const { columns, documents } = b.bucket;
  assert.ok((columns.highSeqno[copied] as number) - documents.persistedSeqno(copied) <= 16 * 100);
});

test('a write that a client awaits on disk does not wait two seconds for a batch of other writes', async () => {
  const b = await aBucket();
  const { columns, documents } = b.bucket;
  const [copied, awaited] = [vb + 8, vb + 24];
  for (const each of [copied, awaited]) addMember(b, each);
  let n = 0;
  const storeFor = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5) {
      for (let i = 0; i < 20; i++) b.store(`d${n++ % 2500}`, { vb: copied, value: Buffer.alloc(1024) });
      receive(b, copied);
      await b.advance(5);
    }
  };
  for (let round = 0; round < 12; round++) {
    await storeFor(400 + round * 35);
    b.store('durable', { vb: awaited, durability: DurabilityLevel.majorityAndPersistActive });
    receive(b, awaited);
    await storeFor(100);
    assert.equal(documents.persistedSeqno(awaited), columns.highSeqno[awaited], `round ${round}`);
  }
});

test('under load even more than a batch waits for the delay, and is then written completely', async () => {
  const b = await aBucket();
  const vbs = [3, 7, 11];
  const value = Buffer.alloc(64 * 1024);
  const onDisk = (): number[] => vbs.map((each) => b.bucket.documents.persistedSeqno(each));
  const storeFor = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5) {
      for (let i = 0; i < 48; i++) b.store(`k${i}`, { vb: vbs[i % 3] as number, value });
      await b.advance(5);
    }
  };
  await storeFor(495);
  assert.deepEqual(onDisk(), [0, 0, 0]);
  await storeFor(5);
  assert.deepEqual(onDisk(), [1600, 1600, 1600]);
  await storeFor(240);
  assert.deepEqual(onDisk(), [1600, 1600, 1600], 'what changed meanwhile waits for the next delay');
});

test('a bucket of high priority writes changes after 5 ms', async () => {
  const b = await aBucket({ priority: 'high' });
  b.store('k', { vb });
  await b.advance(5);
  assert.equal(persisted(b), 1);
});

test('changes are written after 20 ms while memory is short', async () => {
  const b = await aBucket();
  b.store('k', { vb });
  // The low watermark, up to which nothing is evicted, is three quarters of the quota.
  b.bucket.setRules({ quotaBytes: (b.bucket.documents.memUsed + 1000) / 0.75 });
  await b.advance(15);
  assert.equal(persisted(b), 0);
  await b.advance(5);
  assert.equal(persisted(b), 1);
});

test('a whole batch is written after 20 ms', async () => {
  const b = await aBucket();
  for (let i = 0; i < 5; i++) b.store(`k${i}`, { vb, value: Buffer.alloc(256 * 1024) });
  await b.advance(20);
  assert.equal(persisted(b), 4);
  await b.advance(75);
  assert.equal(persisted(b), 4, 'the rest waits for the delay');
  await b.advance(5);
  assert.equal(persisted(b), 5);
});

test('the log that a data file has for urgent commits is released five to ten seconds after the last one; a failed release is repeated', async () => {
  const disk = new MemoryDisk().engine();
  const freed: number[] = [];
  let isFull = true;
  disk.endUrgent = async (_, file) => {
    freed.push(file);
    if (isFull) throw new Error('the disk is full');
  };
  const b = new BucketUnderTest({ storage: { disk, files } });
  await b.start();
  for (let i = 0; i < 4; i++) {
    b.store('k', { vb, durability: DurabilityLevel.persistToMajority });
    await b.advance(3_000);
  }
  assert.deepEqual(freed, [], 'the log was released between two urgent commits');
  await b.advance(7_000);
  assert.deepEqual(freed, [vb % 4]);
  isFull = false;
  await b.advance(5_000);
  assert.deepEqual(freed, [vb % 4, vb % 4], 'the failed release was not repeated');
  await b.advance(20_000);
  assert.equal(freed.length, 2);
});

test('a client that polls the persisted seqno does not wait for the delay', async () => {
  const b = await aBucket();
  b.store('k', { vb });
  b.store('other', { vb: 4 });
  assert.equal(b.bucket.documents.watchPersisted(vb), 0);
  await b.advance(5);
  assert.deepEqual([persisted(b), b.bucket.documents.persistedSeqno(4)], [1, 0]);
  assert.equal(b.bucket.documents.watchPersisted(vb), 1);
});

test('many changes of vbuckets whose states are written go to the disk in several batches', async () => {
  const disk = new MemoryDisk().engine();
  const commit = disk.commit.bind(disk);
  const batches: number[] = [];
  disk.commit = (bucketUuid, file, cuts, isUrgent) => {
    batches.push(cuts.length);
    return commit(bucketUuid, file, cuts, isUrgent);
  };
  const b = new BucketUnderTest({ storage: { disk, files }, priority: 'low' });
  await b.start();
  await b.advance(1000);
  batches.length = 0;
  const value = 'v'.repeat(100_000);
  for (let i = 0; i < 80; i++) b.store(`k${i}`, { vb: i < 40 ? vb : vb + 4, value });
  const written = b.bucket.writeStates([vb, vb + 4]);
  await b.advance(500);
  assert.deepEqual(await written, [vb, vb + 4]);
  assert.equal(persisted(b), 40);
  assert.ok(batches.length >= 2, `${batches}`);
  const sliceBytes = 256 * 1024;
  for (const bytes of batches) assert.ok(bytes <= 4 * 1024 * 1024 + sliceBytes, `${batches}`);
});

test('a flush that ends while the states of vbuckets are encoded leaves their changes to that write', async () => {
  const disk = new MemoryDisk().engine();
  const commit = disk.commit.bind(disk);
  const gate = Promise.withResolvers<void>();
  let commits = 0;
  disk.commit = async (...batch) => {
    commits++;
    await gate.promise;
    return await commit(...batch);
  };
  const b = new BucketUnderTest({ storage: { disk, files }, priority: 'high' });
  await b.start();
  await b.advance(1000);
  b.store('flushed', { vb });
  await b.advance(100);
  assert.ok(commits > 0);
  b.store('large', { vb, value: 'v'.repeat(1_000_000) });
  const written = b.bucket.writeStates([vb]);
  gate.resolve();
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  await b.advance(500);
  assert.deepEqual(await written, [vb]);
  assert.equal(persisted(b), 2);
});

test('a bucket that is stopped writes the cuts that a write of states has encoded meanwhile', async () => {
  const disk = new MemoryDisk();
  const engine = disk.engine();
  const b = new BucketUnderTest({ storage: { disk: engine, files }, priority: 'low' });
  await b.start();
  await b.advance(1000);
  const inSameFile = vb + files.fileCount;
  for (let i = 0; i < 11; i++) b.store(`first ${i}`, { vb, value: 'v'.repeat(100_000) });
  b.store('second', { vb: inSameFile, value: 'v'.repeat(300_000) });
  const commit = engine.commit.bind(engine);
  let written: Promise<unknown> | null = null;
  engine.commit = (...batch) => {
    written ??= b.bucket.writeStates([inSameFile]);
    return commit(...batch);
  };
  await b.bucket.stop();
  assert.ok(written);
  const again = new BucketUnderTest({ storage: { disk: disk.engine(), files } });
  await again.start();
  assert.equal(again.bucket.stats().items, 12);
  await again.bucket.stop();
});
