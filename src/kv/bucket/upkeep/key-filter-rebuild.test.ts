// The filter of keys on disk is made anew where most of its keys are gone, and then still has every key that memory lacks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf } from '../../../../test/support/a-bucket.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';
import { filterCheckMs } from './key-filter-rebuild.ts';

const vb = 0;
const files = { folder: '/k', bucketUuid: 'k', incarnation: 1, fileCount: 1 };
const rules = { quotaBytes: 2 ** 30, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 };
const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `k${from + i}`);

async function runTimers(b: BucketUnderTest, until = (): boolean => false): Promise<void> {
  for (let i = 0; i < 200 && !until(); i++) {
    b.tick(25);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const flushed = (b: BucketUnderTest) => runTimers(b, () => b.bucket.stats().dirtyItems === 0);

/** Stores the documents and evicts them. */
async function evicted(b: BucketUnderTest, keys: readonly string[]): Promise<void> {
  for (const key of keys)
    assert.equal(await b.whenResident(() => b.store(key, { value: key })), Status.success);
  await flushed(b);
  await runTimers(b, () => keys.every((key) => b.bucket.keys.evict(vb, keyOf(key)) !== Status.keyExists));
}

/** A bucket most of whose documents were deleted and purged after they had been on disk only. */
async function aBucketWithGoneKeys(kept: readonly string[]) {
  const disk = new MemoryDisk().engine();
  const storage = { disk, files };
  const b = await new BucketUnderTest({ storage, rules, evictionPolicy: 'fullEviction' }).start();
  const gone = names(0, 1_200);
  await evicted(b, gone);
  for (const key of gone) assert.equal(await b.whenResident(() => b.remove(key)), Status.success);
  await flushed(b);
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
  await runTimers(b, () => b.bucket.compaction.progress === null);
  await evicted(b, kept);
  assert.equal(b.bucket.stats().nonResident, kept.length);
  return { b, disk };
}

test('keys that the disk has no longer leave the filter, the others stay', async () => {
  const kept = names(5_000, 5_020);
  const { b } = await aBucketWithGoneKeys(kept);
  const filter = b.bucket.memory.nonResidentKeys;
  const before = filter.bytes;
  b.tick(filterCheckMs);
  await runTimers(b, () => filter.bytes < before);
  assert.ok(filter.count(vb) <= kept.length);
  assert.ok(filter.bytes < before / 8, `${before} bytes became ${filter.bytes}`);
  for (const key of kept) {
    assert.equal(await b.whenResident(() => b.find(key)), Status.success);
    assert.equal(b.value, key);
  }
  assert.equal(b.bucket.stats().nonResident, 0);
  await b.bucket.stop();
});

test('keys that leave memory while the rows are read are in the new filter, and a flush ends its making', async () => {
  const { b, disk } = await aBucketWithGoneKeys([]);
  const filter = b.bucket.memory.nonResidentKeys;
  const backfill = disk.backfill.bind(disk);
  const held = Promise.withResolvers<void>();
  let reads = 0;
  disk.backfill = async (...request) => {
    const page = await backfill(...request);
    reads++;
    await held.promise;
    return page;
  };
  const before = filter.bytes;
  b.tick(filterCheckMs);
  await runTimers(b, () => reads > 0);
  const late = names(6_000, 6_010);
  await evicted(b, late);
  held.resolve();
  await runTimers(b, () => filter.bytes < before);
  assert.equal(filter.count(vb), late.length);
  for (const key of late) assert.equal(await b.whenResident(() => b.find(key)), Status.success);
  await b.bucket.flush(2);
  assert.equal(filter.bytes, 0);
  await b.bucket.stop();
});
