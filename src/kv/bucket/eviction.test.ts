// More data than memory: every policy acts as documented, and no data is lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype, Status } from '#wire/status.ts';
import { BucketUnderTest, withXattrs } from '../../../test/support/a-bucket.ts';
import type { ManualClock } from '../../../test/support/manual-clock.ts';
import { type DocumentResult, DurabilityLevel, StoreMode } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import type { BucketOptions } from './bucket-parts.ts';

const quotaBytes = 2 * 1024 * 1024;
const rules = { quotaBytes, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 };
const files = { folder: '/e', bucketUuid: 'e', incarnation: 1, fileCount: 4 };
const onDisk = (
  disk: MemoryDisk,
  options: Partial<BucketOptions> & { clock?: ManualClock } = {},
): Promise<BucketUnderTest> =>
  new BucketUnderTest({ storage: { disk: disk.engine(), files }, rules, ...options }).start();

async function runBackground(b: BucketUnderTest): Promise<void> {
  b.tick(25);
  await new Promise((resolve) => setImmediate(resolve));
}

const textOf = (i: number): string => `${i} `.repeat(200 + (i % 7) * 50);
const vbOf = (i: number): number => i % 64;

/** Stores document `i`; retries while the bucket is full. */
async function put(b: BucketUnderTest, i: number): Promise<void> {
  const change = { vb: vbOf(i), value: textOf(i) };
  for (let tries = 0; tries < 1000; tries++) {
    const status = await b.whenResident(() => b.store(`k${i}`, change));
    if (status === Status.success) return;
    assert.equal(status, Status.temporaryFailure);
    await runBackground(b);
  }
  assert.fail(`k${i} finds no room`);
}

const count = 6000;

for (const evictionPolicy of ['valueOnly', 'fullEviction'] as const) {
  test(`${evictionPolicy} keeps a bucket inside its quota and serves every document, also after a restart`, async () => {
    const disk = new MemoryDisk();
    let b = await onDisk(disk, { evictionPolicy });
    for (let i = 0; i < count; i++) {
      await put(b, i);
      if (i % 100 === 0) await runBackground(b);
      assert.ok(b.bucket.stats().memUsed <= quotaBytes || i % 100 !== 0);
    }
    await checkAll();
    const { items, nonResident, evictions, diskFetches } = b.bucket.stats();
    assert.equal(items, count);
    assert.ok(nonResident > count / 2, `${nonResident} are on disk only`);
    assert.ok(evictions > count / 2 && diskFetches > count / 2);
    await b.bucket.stop();
    b = await onDisk(disk, { evictionPolicy, clock: b.clock });
    assert.ok(b.bucket.stats().memUsed < quotaBytes);
    assert.equal(b.bucket.stats().items, count);
    await checkAll();
    assert.deepEqual(b.bucket.stats().collectionItems, { 0: count });

    async function checkAll(): Promise<void> {
      for (let i = 0; i < count; i++) {
        assert.equal(await b.whenResident(() => b.find(`k${i}`, vbOf(i))), Status.success, `k${i}`);
        assert.equal(b.value, textOf(i));
        if (i % 100 === 0) await runBackground(b);
      }
      for (let i = count; i < count + 500; i++) {
        assert.equal(await b.whenResident(() => b.find(`k${i}`, vbOf(i))), Status.keyNotFound);
      }
    }
  });

  test(`${evictionPolicy}: documents that only the disk has are changed as if they were in memory`, async () => {
    const b = await onDisk(new MemoryDisk(), { evictionPolicy });
    const xattrs = withXattrs({ _sys: '1', user: '2' }, 'body');
    const names = ['set', 'remove', 'touch', 'lock', 'add', 'xset', 'xremove', 'gone'];
    for (const name of names) {
      const isX = name.startsWith('x');
      b.store(name, { value: isX ? xattrs : 'body', datatype: isX ? Datatype.xattr : 0 });
    }
    b.remove('gone');
    await runBackground(b);
    for (let i = 0; i < 5000; i++) {
      await put(b, i);
      if (i % 100 === 0) await runBackground(b);
    }
    const ask = (act: () => DocumentResult) => b.whenResident(act);
    const rev = async (name: string): Promise<number> => {
      assert.equal(await ask(() => b.findAny(name)), Status.success);
      return b.view.rev;
    };
    const before = b.bucket.stats();
    assert.equal(await ask(() => b.store('set', { value: 'new' })), Status.success);
    assert.equal(await rev('set'), 2);
    assert.equal(await ask(() => b.remove('remove')), Status.success);
    assert.equal(await ask(() => b.find('remove')), Status.keyNotFound);
    assert.equal(await ask(() => b.touch('touch', { expiry: 100 })), Status.success);
    assert.equal(b.value, 'body');
    assert.equal(await ask(() => b.lock('lock')), Status.success);
    assert.equal(b.value, 'body');
    assert.equal(await ask(() => b.store('lock')), Status.locked);
    assert.equal(await ask(() => b.store('add', { mode: StoreMode.add })), Status.keyExists);
    assert.equal(await ask(() => b.store('xset', { value: 'other', keepXattrs: true })), Status.success);
    assert.equal(await ask(() => b.findAny('xset')), Status.success);
    assert.ok(b.value.includes('user') && b.value.endsWith('other'));
    assert.equal(await ask(() => b.remove('xremove')), Status.success);
    assert.equal(await ask(() => b.findAny('xremove')), Status.success);
    assert.ok(b.value.includes('_sys') && !b.value.includes('user'));
    assert.equal(await ask(() => b.store('gone', { mode: StoreMode.add })), Status.success);
    assert.ok(b.result.seqno > 0);
    const after = b.bucket.stats();
    assert.deepEqual([after.items, after.tombstones], [before.items - 2 + 1, before.tombstones + 2 - 1]);
    await b.bucket.stop();
  });
}

test('noEviction refuses with a temporary failure when full, and loses nothing', async () => {
  const b = await new BucketUnderTest({ rules }).start();
  let stored = 0;
  while (b.store(`k${stored}`, { vb: vbOf(stored), value: textOf(stored) }) === Status.success) stored++;
  assert.equal(b.store('more', { value: textOf(6).repeat(10) }), Status.temporaryFailure);
  for (let i = 0; i < 20; i++) await runBackground(b);
  assert.ok(stored > 1000 && b.bucket.stats().memUsed <= quotaBytes);
  for (let i = 0; i < stored; i++) assert.equal(b.find(`k${i}`, vbOf(i)), Status.success);
  b.bucket.setRules({ quotaBytes: 2 * quotaBytes });
  assert.equal(b.store('more'), Status.success, 'a larger quota applies at once');
});

test('nruEviction stays inside the quota by deletions, and keeps documents that are read', async () => {
  const b = await new BucketUnderTest({ rules, evictionPolicy: 'nruEviction' }).start();
  for (let i = 0; i < count; i++) {
    await put(b, i);
    if (i % 50 === 0) assert.equal(b.find('k0', vbOf(0)), Status.success, `after ${i}`);
    if (i % 100 === 0) await runBackground(b);
    assert.ok(b.bucket.stats().memUsed <= quotaBytes);
  }
  assert.equal(b.find(`k${count - 1}`, vbOf(count - 1)), Status.success);
  let evicted = 0;
  for (let i = 0; i < count; i++) if (b.find(`k${i}`, vbOf(i)) === Status.keyNotFound) evicted++;
  const { items, evictions } = b.bucket.stats();
  assert.equal(items, count - evicted);
  assert.ok(evicted > count / 2 && evictions >= evicted);
  assert.ok(b.bucket.documents.highSeqno(1) > count / 64, 'a deletion has a seqno of its own');
});

test('a bucket without a disk applies a change of its policy at once', async () => {
  const b = await new BucketUnderTest({ rules, evictionPolicy: 'noEviction' }).start();
  let stored = 0;
  while (b.store(`k${stored}`, { value: 'v'.repeat(1000), vb: vbOf(stored) }) === Status.success) stored++;
  await runBackground(b);
  assert.equal(b.bucket.stats().items, stored, 'nothing may be evicted');
  b.bucket.setEvictionPolicy('nruEviction');
  await runBackground(b);
  assert.ok(b.bucket.stats().items < stored, 'unused documents are deleted');
  assert.equal(b.store('again'), Status.success);
});

test('a cache evicts documents without tombstones', async () => {
  const b = await new BucketUnderTest({ rules, type: 'cache' }).start();
  for (let i = 0; i < count; i++) {
    await put(b, i);
    if (i % 100 === 0) await runBackground(b);
  }
  const { items, tombstones, memUsed } = b.bucket.stats();
  assert.ok(items < count / 2 && memUsed <= quotaBytes);
  assert.equal(tombstones, 0);
});

test('a smaller quota takes effect at once', async () => {
  const b = await onDisk(new MemoryDisk(), {
    evictionPolicy: 'valueOnly',
    rules: { ...rules, quotaBytes: 2 ** 30 },
  });
  for (let i = 0; i < count; i++) {
    await put(b, i);
    if (i % 500 === 0) await runBackground(b);
  }
  assert.ok(b.bucket.stats().memUsed > 1.5 * quotaBytes);
  b.bucket.setRules({ quotaBytes });
  for (let i = 0; i < 300; i++) await runBackground(b);
  const { memUsed } = b.bucket.stats();
  assert.ok(memUsed < 0.9 * quotaBytes, `${memUsed} of ${quotaBytes}`);
  await b.bucket.stop();
});

test('one read serves all requests that wait for a document; if it fails, each gets a temporary failure', async () => {
  let reads = 0;
  let fails = false;
  const disk = new MemoryDisk({
    read: async () => {
      reads++;
      if (fails) throw new Error('unreadable sector');
    },
  });
  const b = await onDisk(disk);
  for (let i = 0; i < count; i++) {
    await put(b, i);
    if (i % 100 === 0) await runBackground(b);
  }
  const ask = (): Promise<Status> => b.whenResident(() => b.find('k1', vbOf(1)));
  reads = 0;
  assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [0, 0, 0]);
  assert.equal(reads, 1);
  fails = true;
  assert.equal(await b.whenResident(() => b.find('k2', vbOf(2))), Status.temporaryFailure);
  fails = false;
  assert.equal(await b.whenResident(() => b.find('k2', vbOf(2))), Status.success);
  await b.bucket.stop();
});
