// What memory takes of a document that was read from disk, after the bucket has changed during the read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, fetched, keyOf } from '../../../../test/support/a-bucket.ts';
import { manifestOf } from '../../../../test/support/manifest-of.ts';
import type { ShardSpec } from '../../admin.ts';
import { CutBits, type CutItem, emptyCutItem } from '../../data/cut.ts';
import type { DiskEngine } from '../../data/disk-engine.ts';
import { DurabilityLevel, notResident } from '../../data/documents.ts';
import type { VbucketStateName } from '../../data/vbucket-state.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';
import type { BucketOptions } from '../bucket-parts.ts';

const vb = 0;
const files = { folder: '/f', bucketUuid: 'f', incarnation: 1, fileCount: 4 };
const quotaBytes = 2 ** 30;
const rules = { quotaBytes, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 1 };
const inState = (state: VbucketStateName, epoch: number): ShardSpec[] =>
  Array.from({ length: 64 }, () => ({ state, epoch, replicas: [] }));
const aBucket = (disk: DiskEngine, options: Partial<Omit<BucketOptions, 'clock'>> = {}) =>
  new BucketUnderTest({
    storage: { disk, files },
    evictionPolicy: 'fullEviction',
    rules: { ...rules },
    ...options,
  }).start();

async function runTimers(b: BucketUnderTest): Promise<void> {
  for (let i = 0; i < 20; i++) {
    b.tick(25);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** From now on the disk keeps what it has read until `deliver` is called. */
function holdReads(disk: DiskEngine): { deliver: () => void } {
  const held = Promise.withResolvers<void>();
  const fetchItems = disk.fetchItems.bind(disk);
  disk.fetchItems = async (...request) => {
    const found = await fetchItems(...request);
    await held.promise;
    return found;
  };
  return { deliver: held.resolve };
}

/** The version of a key in a copy. */
function versionOf(key: string, value: string, fields: Partial<CutItem>): CutItem {
  const bytes = keyOf(key);
  const item = emptyCutItem(Buffer.concat([bytes, Buffer.from(value)]));
  const valueEnd = item.buffer.length;
  return { ...item, keyEnd: bytes.length, valueStart: bytes.length, valueEnd, casHi: 1, rev: 1, ...fields };
}

test('a document that the room for an older version of it evicts is not replaced by that version', async () => {
  const disk = new MemoryDisk();
  const before = await aBucket(disk.engine());
  before.store('k', { value: 'old'.padEnd(5_000, '.') });
  await before.bucket.stop();
  const engine = disk.engine();
  // After the start memory has the key without its large value.
  engine.largeItems = async () => ({ batch: new Uint8Array(), next: null });
  const b = await aBucket(engine);
  assert.equal(b.find('k'), notResident);
  const reads = holdReads(engine);
  const answer = fetched(b.bucket);
  await runTimers(b);
  assert.equal(b.store('k', { value: 'new'.padEnd(5_000, '.') }), Status.success);
  await runTimers(b);
  assert.equal(b.bucket.stats().dirtyItems, 0);
  b.bucket.rules.quotaBytes = 4_000;
  reads.deliver();
  assert.equal(await answer, Status.success);
  assert.equal(b.bucket.stats().evictions, 1);
  b.bucket.rules.quotaBytes = quotaBytes;
  assert.equal(await b.whenResident(() => b.find('k')), Status.success);
  assert.equal(b.value.slice(0, 3), 'new');
  await b.bucket.stop();
});

test('a row that was read before its vbucket was removed neither replaces nor hides the document that came afterwards', async () => {
  for (const hadRow of [true, false]) {
    const disk = new MemoryDisk().engine();
    const b = await aBucket(disk);
    for (const key of ['other', 'k']) b.store(key, { value: 'old' });
    await runTimers(b);
    for (const key of ['other', 'k']) assert.equal(b.bucket.keys.evict(vb, keyOf(key)), Status.success);
    await b.bucket.followShards(inState('replica', 2));
    const bytes = keyOf('k');
    const find = () => b.bucket.documents.findReplica(vb, bytes, 0, bytes.length, b.view);
    assert.equal(find(), notResident);
    if (!hadRow) await disk.drop(files.bucketUuid, 0, [vb]);
    const reads = holdReads(disk);
    const answer = fetched(b.bucket);
    await runTimers(b);
    const removal = b.bucket.drop([vb]);
    await runTimers(b);
    await removal;
    const { applier } = b.bucket;
    assert.equal(applier.begin(vb, { start: 1, end: 9 }), Status.success);
    assert.equal(applier.apply(vb, versionOf('k', 'new', { seqno: 9 })), Status.success);
    await runTimers(b);
    assert.equal(b.bucket.keys.evict(vb, bytes), Status.success);
    reads.deliver();
    assert.equal(await answer, Status.temporaryFailure);
    assert.equal(await b.whenResident(find), Status.success);
    assert.equal(b.value, 'new');
    assert.equal(b.bucket.stats().nonResident, 0);
    await b.bucket.stop();
  }
});

/** An active bucket with one document, 8:k, on disk only. */
async function withEvicted(disk: DiskEngine): Promise<BucketUnderTest> {
  const b = await aBucket(disk, { manifest: manifestOf([0, 8], 1) });
  b.store('8:k');
  await runTimers(b);
  assert.equal(b.bucket.keys.evict(vb, keyOf('8:k')), Status.success);
  return b;
}

/** Applies the deletion of 8:k, which the active made, to the copy, and asserts what it counts then. */
async function countsDeletion(b: BucketUnderTest): Promise<void> {
  const { applier, columns } = b.bucket;
  const seqno = (columns.highSeqno[vb] as number) + 1;
  assert.equal(applier.begin(vb, { start: seqno, end: seqno }), Status.success);
  const deletion = versionOf('8:k', '', { seqno, bits: CutBits.deleted, expiry: b.nowSeconds });
  await b.untilApplied(() => applier.apply(vb, deletion));
  assert.deepEqual([columns.items[vb], columns.nonResidentItems[vb], columns.tombstones[vb]], [0, 0, 1]);
}

test('a copy counts the deletion of a document on disk only whose collection was dropped', async () => {
  const b = await withEvicted(new MemoryDisk().engine());
  await b.bucket.followShards(inState('replica', 2));
  b.bucket.applyManifest(manifestOf([0], 2));
  await runTimers(b);
  await countsDeletion(b);
  await b.bucket.stop();
});

test('a copy counts that deletion too where it read the document as the active, just before the sweep', async () => {
  const disk = new MemoryDisk().engine();
  const b = await withEvicted(disk);
  const reads = holdReads(disk);
  assert.equal(b.find('8:k'), notResident);
  const answer = fetched(b.bucket);
  b.bucket.applyManifest(manifestOf([0], 2));
  reads.deliver();
  assert.equal(await answer, Status.success);
  await b.bucket.followShards(inState('replica', 2));
  await countsDeletion(b);
  await b.bucket.stop();
});
