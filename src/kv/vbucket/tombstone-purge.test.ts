import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { aSeed, randomBytes } from '../../../test/support/random.ts';

async function purge(b: BucketUnderTest, purgeBeforeSeconds: number): Promise<void> {
  b.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds });
  for (let turn = 0; b.bucket.compaction.progress !== null; turn++) {
    assert.ok(turn < 100, 'a purge ends');
    b.tick(0);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Purges as many old deletions as recent ones, with live documents between them, and checks that only the old ones are gone. */
async function purgeOld(b: BucketUnderTest, count: number): Promise<void> {
  for (let i = 0; i < count; i++) b.store(`old${i}`);
  for (let i = 0; i < count; i++) b.remove(`old${i}`);
  b.tick(100_000);
  for (let i = 0; i < count; i++) b.store(`live${i}`);
  for (let i = 0; i < count; i++) b.store(`new${i}`);
  for (let i = 0; i < count; i++) b.remove(`new${i}`);
  await purge(b, b.nowSeconds - 10);
  assert.equal(b.bucket.stats().tombstones, count);
  for (let i = 0; i < count; i++) {
    assert.equal(b.findAny(`old${i}`), Status.keyNotFound);
    assert.equal(b.findAny(`new${i}`), Status.success);
    assert.equal(b.find(`live${i}`), Status.success);
  }
}

test('a purge counts each remaining tombstone once, wherever removed ones leave gaps in the table', async (t) => {
  const random = aSeed(t);
  const source = { bytes: (count: number) => randomBytes(random, count), uuid: () => 'never asked for' };
  for (let table = 0; table < 100; table++) {
    const b = await new BucketUnderTest({ random: source, vbucketCount: 1 }).start();
    await purgeOld(b, 1 + random(6));
    await b.bucket.stop();
  }
});

test('a vbucket is purged also during a rehash of its table', async () => {
  const b = await new BucketUnderTest({ vbucketCount: 1 }).start();
  const fullAt = (16_384 * 13) / 16;
  await purgeOld(b, Math.ceil(fullAt / 3) + 10);
  await b.bucket.stop();
});

test('a deletion of a later time with a lower seqno is kept, as when the clock was set back', async () => {
  const b = await new BucketUnderTest({ vbucketCount: 1 }).start();
  for (const key of ['young', 'old']) b.store(key);
  b.tick(100_000);
  b.remove('young');
  b.now.set(b.clock.wallMs() - 90_000, b.clock.monotonicMs());
  b.remove('old');
  b.tick(1);
  await purge(b, b.nowSeconds - 50);
  assert.equal(b.findAny('young'), Status.success);
  assert.equal(b.findAny('old'), Status.keyNotFound);
  assert.equal(b.bucket.stats().tombstones, 1);
  await b.bucket.stop();
});

test('the purge seqno is not above the last purged tombstone, so that streams need not restart', async () => {
  const b = await new BucketUnderTest({ vbucketCount: 1 }).start();
  b.store('old');
  b.remove('old');
  const { seqno } = b.result;
  b.tick(100_000);
  b.store('new');
  b.remove('new');
  await purge(b, b.nowSeconds - 10);
  assert.equal(b.bucket.changes.purgeSeqno(0), seqno);
  await b.bucket.stop();
});

test('a deletion that stays because a durable write is pending does not raise the purge seqno', async () => {
  const rules = {
    quotaBytes: 2 ** 30,
    maxTtl: 0,
    durabilityMinLevel: DurabilityLevel.none,
    replicaNumber: 1,
  };
  const b = await new BucketUnderTest({ vbucketCount: 1, rules }).start();
  b.bucket.progress.setMembers(0, { others: ['b'], size: 2, isFrozen: false, isUnwritten: false });
  for (const key of ['old', 'held']) b.store(key);
  b.remove('old');
  const { seqno } = b.result;
  b.remove('held');
  b.tick(100_000);
  b.store('held', { durability: DurabilityLevel.majority });
  assert.ok(b.result.pending > 0);
  await purge(b, b.nowSeconds - 10);
  assert.equal(b.bucket.changes.purgeSeqno(0), seqno);
  assert.equal(b.bucket.stats().tombstones, 1);
  await b.bucket.stop();
});
