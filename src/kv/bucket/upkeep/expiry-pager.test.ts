import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype, Status } from '#wire/status.ts';
import { BucketUnderTest, withXattrs } from '../../../../test/support/a-bucket.ts';
import type { ShardSpec } from '../../admin.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';

const rules = {
  quotaBytes: 2 * 1024 * 1024,
  maxTtl: 0,
  durabilityMinLevel: DurabilityLevel.none,
  replicaNumber: 0,
};
const files = { folder: '/x', bucketUuid: 'x', incarnation: 1, fileCount: 4 };

async function runBackground(b: BucketUnderTest, times: number, ms = 25): Promise<void> {
  for (let i = 0; i < times; i++) {
    b.tick(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('documents expire without any access by a client, at the interval of the pager and not before', async () => {
  const b = await new BucketUnderTest({ storage: { disk: new MemoryDisk().engine(), files } }).start();
  for (let i = 0; i < 3000; i++) b.store(`k${i}`, { vb: i % 64, expiry: i % 3 === 0 ? 0 : 10 });
  const { items } = b.bucket.stats();
  await runBackground(b, 10, 59_000);
  assert.equal(b.bucket.stats().items, items);
  await runBackground(b, 10, 2_000);
  assert.deepEqual([b.bucket.stats().items, b.bucket.stats().tombstones], [1000, 2000]);
  assert.equal(b.bucket.stats().expired, 2000);
  await runBackground(b, 20);
  assert.equal(b.bucket.stats().dirtyItems, 0, 'the tombstones are written');
  assert.equal(b.find('k0', 0), Status.success);
  b.store('later', { expiry: 10 });
  b.bucket.expireEvery(20);
  await runBackground(b, 6, 5_000);
  assert.equal(b.bucket.stats().items, 1000);
  await b.bucket.stop();
});

test('fullEviction: documents on disk expire that come after thousands of expired ones of copies', async () => {
  const disk = new MemoryDisk();
  const b = await new BucketUnderTest({
    storage: { disk: disk.engine(), files },
    rules,
    evictionPolicy: 'fullEviction',
  }).start();
  // In one file; those of the copy expire first.
  const [copy, active] = [0, 4];
  for (let i = 0; i < 5000; i++) {
    const isOfCopy = i % 2 === 0;
    const change = { vb: isOfCopy ? copy : active, value: 'v'.repeat(1000), expiry: isOfCopy ? 300 : 301 };
    while ((await b.whenResident(() => b.store(`k${i}`, change))) !== Status.success)
      await runBackground(b, 1);
    if (i % 100 === 0) await runBackground(b, 1);
  }
  await runBackground(b, 50);
  const shards = Array.from({ length: 64 }, (_, vb): ShardSpec => {
    return { state: vb === active ? 'active' : 'replica', epoch: 2, replicas: [] };
  });
  const followed = b.bucket.followShards(shards);
  await runBackground(b, 50);
  await followed;
  const { items, nonResidentItems } = b.bucket.columns;
  assert.ok((nonResidentItems[active] as number) > 500);
  await runBackground(b, 12, 50_000);
  await runBackground(b, 500);
  assert.deepEqual([items[copy], items[active]], [2500, 0]);
  await b.bucket.stop();
});

for (const evictionPolicy of ['valueOnly', 'fullEviction'] as const) {
  test(`${evictionPolicy}: documents that only the disk has expire, and keep their system attributes`, async () => {
    const disk = new MemoryDisk();
    const options = { storage: { disk: disk.engine(), files }, rules, evictionPolicy };
    const b = await new BucketUnderTest(options).start();
    const count = 5000;
    const xattrs = withXattrs({ _sys: '1', user: '2' }, 'body'.repeat(30));
    for (let i = 0; i < count; i++) {
      const hasXattrs = i % 10 === 0;
      const value = hasXattrs ? xattrs : 'v'.repeat(1000);
      const change = { vb: i % 64, value, expiry: 300, datatype: hasXattrs ? Datatype.xattr : 0 };
      while ((await b.whenResident(() => b.store(`k${i}`, change))) !== Status.success)
        await runBackground(b, 1);
      if (i % 100 === 0) await runBackground(b, 1);
    }
    assert.ok(b.bucket.stats().nonResident > count / 2);
    await runBackground(b, 12, 50_000);
    await runBackground(b, 2000);
    const { items, tombstones, expired } = b.bucket.stats();
    assert.deepEqual({ items, tombstones, expired }, { items: 0, tombstones: count, expired: count });
    assert.equal(await b.whenResident(() => b.findAny('k10', 10)), Status.success);
    assert.ok(b.view.isDeleted && b.value.includes('_sys') && !b.value.includes('user'));
    await b.bucket.stop();
  });
}
