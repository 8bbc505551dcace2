import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import type { ShardSpec } from '../admin.ts';
import { type DocumentResult, DurabilityLevel } from '../data/documents.ts';
import { VbucketState, type VbucketStateName } from '../data/vbucket-state.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };

/** All shards are active except `others`, which maps the number of a shard to its state. */
const shards = (others: Record<number, VbucketStateName> = {}, epoch = 1): ShardSpec[] =>
  Array.from({ length: 64 }, (_, shard) => ({ state: others[shard] ?? 'active', epoch, replicas: [] }));

const onDisk = (disk: MemoryDisk, states?: ShardSpec[]) =>
  new BucketUnderTest({ storage: { disk: disk.engine(), files }, shards: states }).start();

function findReplica(b: BucketUnderTest, key: string, vb: number): DocumentResult {
  const bytes = Buffer.from(`\0${key}`);
  return b.bucket.documents.findReplica(vb, bytes, 0, bytes.length, b.view);
}

test('a bucket answers as the active only for active vbuckets, and as a replica only for replica vbuckets', async () => {
  const b = await onDisk(new MemoryDisk());
  for (const vb of [1, 2, 3, 4]) assert.equal(b.store('k', { vb }), Status.success);
  assert.equal(findReplica(b, 'k', 1), Status.notMyVbucket);
  assert.equal(await b.bucket.followShards(shards({ 1: 'replica', 2: 'pending', 3: 'dead' })), true);
  assert.equal(await b.bucket.followShards(shards({ 1: 'replica', 2: 'pending', 3: 'dead' })), false);
  for (const vb of [1, 2, 3]) {
    assert.equal(b.find('k', vb), Status.notMyVbucket);
    assert.equal(b.store('k', { vb }), Status.notMyVbucket);
    assert.equal(b.lock('k', 0, vb), Status.notMyVbucket);
    assert.equal(findReplica(b, 'k', vb), vb === 1 ? Status.success : Status.notMyVbucket);
  }
  assert.equal(b.find('k', 4), Status.success);
  assert.equal(b.find('k', 64), Status.notMyVbucket);
  const { documents } = b.bucket;
  assert.deepEqual(
    [0, 1, 2, 3, 64].map((vb) => documents.stateOf(vb)),
    [VbucketState.active, VbucketState.replica, VbucketState.pending, VbucketState.dead, VbucketState.dead],
  );
});

test('a copy that is not in sync answers no reads', async () => {
  const b = await onDisk(new MemoryDisk());
  assert.equal(b.store('k', { vb: 1 }), Status.success);
  const copied = shards({ 1: 'replica' });
  const notInSync = copied.map((spec, shard) => (shard === 1 ? { ...spec, isOutOfSync: true } : spec));
  for (const [specs, status] of [
    [notInSync, Status.temporaryFailure],
    [copied, Status.success],
    [notInSync, Status.temporaryFailure],
  ] as const) {
    await b.bucket.followShards(specs);
    assert.equal(findReplica(b, 'k', 1), status);
  }
  await b.bucket.followShards(shards());
  assert.equal(b.find('k', 1), Status.success);
});

test('the waiting writes of a shard that becomes a replica end as ambiguous; other writes keep waiting', async () => {
  const disk = new MemoryDisk();
  const b = await onDisk(disk);
  const tokens = [1, 2].map((vb) => {
    b.store('k', { vb, durability: DurabilityLevel.persistToMajority });
    return b.result.pending;
  });
  await b.bucket.followShards(shards({ 1: 'replica' }));
  assert.deepEqual(
    tokens.map((token) => b.resolved.get(token)),
    [Status.syncWriteAmbiguous, undefined],
  );
});

test('a vbucket that becomes active is served once its new history is on disk', async () => {
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const disk = new MemoryDisk({ sync: () => (isHeld ? gate.promise : Promise.resolve()) });
  const b = await onDisk(disk, shards({ 1: 'replica' }));
  isHeld = true;
  const followed = b.bucket.followShards(shards({}, 2));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(b.store('k', { vb: 1 }), Status.temporaryFailure);
  assert.equal(b.store('k', { vb: 2 }), Status.success);
  gate.resolve();
  assert.equal(await followed, true);
  assert.equal(b.find('k', 1), Status.keyNotFound);
  const history = b.bucket.documents.failoverLog(1);
  await b.bucket.stop();
  const after = await onDisk(disk);
  assert.deepEqual(after.bucket.documents.failoverLog(1), history);
});
