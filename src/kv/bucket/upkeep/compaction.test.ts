import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf } from '../../../../test/support/a-bucket.ts';
import { manifestOf } from '../../../../test/support/manifest-of.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };

async function runBackground(b: BucketUnderTest): Promise<void> {
  for (let i = 0; i < 40; i++) {
    b.tick(20);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

for (const kind of ['on disk', 'in memory'] as const) {
  test(`a bucket ${kind} purges tombstones of old deletions, and only those`, async () => {
    const storage = { disk: new MemoryDisk().engine(), files };
    const b = await new BucketUnderTest(kind === 'on disk' ? { storage } : {}).start();
    for (const key of ['old', 'again', 'live']) assert.equal(b.store(key), Status.success);
    for (const key of ['old', 'again']) b.remove(key);
    b.tick(100_000);
    const purgeBeforeSeconds = b.nowSeconds - 10;
    for (const key of ['new', 'again']) b.store(key);
    b.remove('new');
    await runBackground(b);
    b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds });
    assert.deepEqual(b.bucket.compaction.progress, { origin: 'bucket', done: 0, total: 4 });
    await runBackground(b);
    assert.equal(b.bucket.compaction.progress, null);
    assert.equal(b.findAny('old'), Status.keyNotFound);
    for (const key of ['new', 'again', 'live']) assert.equal(b.findAny(key), Status.success, key);
    assert.equal(b.bucket.stats().tombstones, 1);
    assert.equal(b.store('old'), Status.success);
    assert.equal(b.find('old'), Status.success);
    assert.ok(b.view.rev > 2, 'a revision is not used twice');
    b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
    await runBackground(b);
    assert.equal(b.bucket.stats().tombstones, 0);
    await b.bucket.stop();
  });
}

test('a file that cannot be compacted is reported, and the other files are compacted', async () => {
  const engine = new MemoryDisk().engine();
  const compacted: number[] = [];
  engine.compact = async (_, file) => {
    if (file === 1) throw new Error('there is no room for a copy');
    compacted.push(file);
    return { bytesBefore: 10, bytesAfter: 5, purged: [] };
  };
  const lines: unknown[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => void lines.push([event, fields?.['reason']]) };
  const b = await new BucketUnderTest({ storage: { disk: engine, files }, log }).start();
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 0 });
  await runBackground(b);
  assert.deepEqual(compacted, [0, 2, 3]);
  assert.deepEqual(lines, [['bucket.compaction.failed', 'there is no room for a copy']]);
  assert.equal(b.bucket.compaction.progress, null);
  await b.bucket.stop();
});

test('purged tombstones stay purged over a restart, with the purge seqno', async () => {
  const disk = new MemoryDisk();
  const first = await new BucketUnderTest({ storage: { disk: disk.engine(), files } }).start();
  first.store('k');
  first.remove('k');
  await runBackground(first);
  first.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
  await runBackground(first);
  first.store('other');
  await first.bucket.stop();
  const opened = await disk.engine().open(files);
  assert.deepEqual(
    opened.opened[0]?.vbuckets.map(({ purgeSeqno, highSeqno }) => [purgeSeqno, highSeqno]),
    [[2, 3]],
  );
});

test('a purge of every tombstone follows the compaction under way; a cancellation ends only the compaction of its origin', async () => {
  const disk = new MemoryDisk();
  const b = await new BucketUnderTest({ storage: { disk: disk.engine(), files } }).start();
  b.store('k');
  b.remove('k');
  await runBackground(b);
  b.bucket.compaction.begin({ origin: 'databases', purgeBeforeSeconds: 0 });
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 0 });
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
  b.bucket.compaction.cancel('automatic');
  await runBackground(b);
  assert.equal(b.bucket.stats().tombstones, 0);
  b.remove('k');
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
  b.bucket.compaction.cancel('bucket');
  await runBackground(b);
  assert.equal(b.bucket.compaction.progress, null);
  await b.bucket.stop();
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
  assert.equal(b.bucket.compaction.progress, null);
});

test('a purge of tombstones of dropped collections does not change the count of other tombstones', async () => {
  const storage = { disk: new MemoryDisk().engine(), files };
  const b = await new BucketUnderTest({ storage, manifest: manifestOf([0, 8], 1) }).start();
  b.store('8:dropped');
  b.bucket.applyManifest(manifestOf([0], 2));
  await runBackground(b);
  b.store('k');
  b.remove('k');
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
  await runBackground(b);
  assert.equal(b.findAny('k'), Status.success, 'a tombstone was purged that was not on disk yet');
  assert.equal(b.bucket.stats().tombstones, 1);
  await b.bucket.stop();
});

test('the count of tombstones does not fall below zero, and a bucket whose files have such a count starts', async () => {
  const disk = new MemoryDisk();
  const manifest = manifestOf([0, 8], 1);
  const options = {
    storage: { disk: disk.engine(), files },
    manifest,
    evictionPolicy: 'fullEviction',
  } as const;
  const b = await new BucketUnderTest(options).start();
  for (const key of ['8:a', '8:b']) b.store(key);
  b.bucket.applyManifest(manifestOf([0], 2));
  await runBackground(b);
  b.tick(100_000);
  b.store('k');
  b.remove('k');
  await runBackground(b);
  assert.equal(b.bucket.keys.evict(0, keyOf('k')), Status.success);
  // The file counts the two tombstones of the dropped collection, memory does not.
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: b.nowSeconds - 50 });
  await runBackground(b);
  assert.equal(await b.whenResident(() => b.store('k')), Status.success);
  assert.equal(b.bucket.stats().tombstones, 0);
  // As earlier versions wrote it.
  b.bucket.columns.tombstones[0] = -1;
  assert.deepEqual(await b.bucket.writeStates([0]), [0]);
  disk.crash();
  const storage = { disk: disk.engine(), files };
  const after = await new BucketUnderTest({ storage, manifest, evictionPolicy: 'valueOnly' }).start();
  assert.equal(after.find('k'), Status.success);
  assert.equal(after.bucket.stats().tombstones, 0);
  await after.bucket.stop();
});
