// Documents of a dropped collection that are on disk only are removed in the background.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf } from '../../../../test/support/a-bucket.ts';
import { manifestOf } from '../../../../test/support/manifest-of.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import type { ShardSpec } from '../../admin.ts';
import type { CollectionKeysRequest } from '../../data/disk-engine.ts';
import type { DocumentKey } from '../../data/document-keys.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';
import { CollectionSweep } from './collection-sweep.ts';

const files = { folder: '/s', bucketUuid: 's', incarnation: 1, fileCount: 4 };
const quotaBytes = 2 * 1024 * 1024;
const rules = { quotaBytes, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 };
async function until(b: BucketUnderTest, isTrue: () => boolean): Promise<void> {
  for (let turn = 0; !isTrue(); turn++) {
    assert.ok(turn < 2000, 'the condition becomes true');
    b.tick(20);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const vbOf = (i: number): number => i % 64;
const value = 'v'.repeat(1000);

async function fill(b: BucketUnderTest, collection: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const store = () => b.store(`${collection}:k${i}`, { vb: vbOf(i), value });
    while ((await b.whenResident(store)) !== Status.success) {
      b.tick(20);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** The shard whose state a test changes. */
const copy = 5;
/** All shards, `copy` in this state. */
const shardsWith = (state: ShardSpec['state'], epoch: number): ShardSpec[] =>
  Array.from({ length: 64 }, (_, shard) => ({
    state: shard === copy ? state : 'active',
    epoch: shard === copy ? epoch : 1,
    replicas: [],
  }));

test('the sweep removes documents of a dropped collection that are on disk only, and their counts', async () => {
  const disk = new MemoryDisk();
  const storage = { disk: disk.engine(), files };
  const manifest = manifestOf([0, 8, 9], 1);
  const b = await new BucketUnderTest({ storage, rules, manifest, evictionPolicy: 'fullEviction' }).start();
  for (const collection of ['8', '0', '9']) await fill(b, collection, 3000);
  await until(b, () => b.bucket.stats().dirtyItems === 0 && b.bucket.stats().nonResident > 6000);
  const { fileBytes } = await b.bucket.diskSizes();
  b.bucket.applyManifest(manifestOf([0, 9], 2));
  assert.deepEqual(b.bucket.stats().collectionItems, { 0: 3000, 9: 3000 });
  await until(b, () => b.bucket.stats().items <= 8000);
  b.bucket.applyManifest(manifestOf([0], 3));
  await until(b, () => b.bucket.stats().items === 3000 && b.bucket.stats().dirtyItems === 0);
  assert.ok((await b.bucket.diskSizes()).fileBytes < fileBytes / 2, 'no values are left');
  for (let i = 0; i < 3000; i++) {
    assert.equal(await b.whenResident(() => b.find(`k${i}`, vbOf(i))), Status.success);
  }
  assert.ok(b.bucket.stats().nonResident <= 3000);
  await b.bucket.stop();
});

test('a vbucket that becomes active is swept of what was dropped while it was a copy', async () => {
  const storage = { disk: new MemoryDisk().engine(), files };
  const manifest = manifestOf([0, 8], 1);
  const b = await new BucketUnderTest({ storage, rules, manifest, shards: shardsWith('active', 1) }).start();
  await fill(b, '8', 128);
  await fill(b, '0', 64);
  const isLeft = (vb: number): boolean => (b.bucket.columns.items[vb] as number) > 1;
  await b.bucket.followShards(shardsWith('replica', 2));
  b.bucket.applyManifest(manifestOf([0], 2));
  await until(b, () => !isLeft(copy - 1) && !isLeft(copy + 1));
  assert.ok(isLeft(copy), 'a copy was swept, although its active makes the tombstones');
  const promoted = b.bucket.followShards(shardsWith('active', 3));
  await until(b, () => !isLeft(copy));
  await promoted;
  await until(b, () => b.bucket.stats().dirtyItems === 0);
  await b.bucket.stop();
});

test('a vbucket that becomes active is swept also of documents that are on disk only', async () => {
  const storage = { disk: new MemoryDisk().engine(), files };
  const manifest = manifestOf([0, 8], 1);
  const active = shardsWith('active', 1);
  const options = { storage, rules, manifest, shards: active, evictionPolicy: 'fullEviction' } as const;
  const b = await new BucketUnderTest(options).start();
  await fill(b, '8', 3000);
  await fill(b, '0', 3000);
  await until(b, () => b.bucket.stats().dirtyItems === 0 && b.bucket.stats().nonResident > 3000);
  await b.bucket.followShards(shardsWith('replica', 2));
  b.bucket.applyManifest(manifestOf([0], 2));
  const itemsOf = (vb: number): number => b.bucket.columns.items[vb] as number;
  const isSwept = (vb: number): boolean => itemsOf(vb) <= 3000 / 64 + 1;
  await until(b, () => Array.from({ length: 64 }, (_, vb) => vb).every((vb) => vb === copy || isSwept(vb)));
  await until(b, () => b.bucket.stats().dirtyItems === 0);
  assert.ok(!isSwept(copy), 'a copy was swept, although its active makes the tombstones');
  const promoted = b.bucket.followShards(shardsWith('active', 3));
  await until(b, () => isSwept(copy));
  await promoted;
  await until(b, () => b.bucket.stats().dirtyItems === 0);
  await b.bucket.stop();
});

for (const evictionPolicy of ['valueOnly', 'fullEviction'] as const)
  test(`documents of a dropped collection become tombstones, which copies need, after a file has failed: ${evictionPolicy}`, async () => {
    const disk = new MemoryDisk();
    const storage = { disk: disk.engine(), files };
    const manifest = manifestOf([0, 8], 1);
    const b = await new BucketUnderTest({ storage, rules, manifest, evictionPolicy }).start();
    await fill(b, '8', 640);
    await until(b, () => b.bucket.stats().dirtyItems === 0);
    const key = keyOf('8:k0');
    assert.equal(b.bucket.keys.evict(0, key), Status.success);
    disk.failNextWrite('EIO');
    assert.equal(b.store('k', { vb: 1 }), Status.success);
    await until(b, () => b.bucket.writeFailure !== null);
    const { highSeqno, items } = b.bucket.columns;
    const [before] = highSeqno;
    b.bucket.applyManifest(manifestOf([0], 2));
    await until(b, () => items[0] === 0);
    // The drop and each of the ten documents.
    assert.equal(highSeqno[0], (before as number) + 11);
    assert.deepEqual(b.bucket.stats().collectionItems, { 0: 1 });
    await b.bucket.stop().catch(() => {});
  });

/** A sweep with nothing in memory, and with one file, whose rows `rowsOf` gives; `read` lists the collections that were read. */
function aSweep(rowsOf: (collection: number) => DocumentKey[], sweeps: (vb: number) => boolean) {
  const clock = new ManualClock();
  const read: number[] = [];
  const sweeper = {
    begin: () => {},
    restart: () => {},
    slice: () => 'done' as const,
    deleteStored: () => true,
    sweeps,
  };
  const keys = async (_file: number, { prefix }: CollectionKeysRequest): Promise<DocumentKey[]> => {
    read.push(prefix[0] as number);
    return rowsOf(prefix[0] as number);
  };
  const sweep = new CollectionSweep({ sweeper, clock, tick: () => {}, disk: { fileCount: 1, keys } });
  /** The collections that were read until no timer and no promise has work left. */
  const settled = async (): Promise<number[]> => {
    while (clock.pending > 0) {
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return read.splice(0);
  };
  return { sweep, settled };
}

const aRow = (vb: number): DocumentKey => ({ vb, key: Buffer.from('k') });

test('a later drop forgets collections that were skipped and have their tombstones, so that a promotion does not read them', async () => {
  const left = new Set([8, 9]);
  const { sweep, settled } = aSweep(
    (collection) => (left.has(collection) ? [aRow(5)] : []),
    () => false,
  );
  sweep.begin([8]);
  assert.deepEqual(await settled(), [8]);
  left.delete(8);
  sweep.begin([9]);
  assert.deepEqual(await settled(), [9, 8]);
  sweep.begin([], [5]);
  assert.deepEqual(await settled(), [9], 'the other has no documents on disk any longer');
});

test('a sweep that starts over during its run does not read again what it has finished', async () => {
  let starts = 0;
  const { sweep, settled } = aSweep(
    (collection) => {
      if (collection === 9 && starts++ < 2) sweep.begin([], [starts]);
      return [aRow(5)];
    },
    () => true,
  );
  sweep.begin([8, 9]);
  assert.deepEqual(await settled(), [8, 9, 9, 9]);
});
