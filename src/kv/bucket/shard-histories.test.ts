// The histories of vbuckets that are to become active are on disk, with their epochs, before the vbuckets are active.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import type { ShardSpec } from '../admin.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const files = { folder: '/h', bucketUuid: 'h', incarnation: 1, fileCount: 4 };
const vb = 5;
const shards = (state: ShardSpec['state'], epoch: number): ShardSpec[] =>
  Array.from({ length: 64 }, (_, shard) => ({
    state: shard === vb ? state : 'active',
    epoch: shard === vb ? epoch : 1,
    replicas: [],
  }));

async function whileTicking<T>(b: BucketUnderTest, done: Promise<T>): Promise<T> {
  let isDone = false;
  const ended = done.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    b.tick(5);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return ended;
}

/** A bucket whose vbucket is a copy with changes that are not on disk, and what its disk says of it after a crash. */
async function aCopy() {
  const disk = new MemoryDisk();
  const storage = { disk: disk.engine(), files };
  const b = await new BucketUnderTest({ storage, shards: shards('active', 1) }).start();
  b.store('k', { vb });
  await whileTicking(b, b.bucket.writeAll());
  b.store('later', { vb });
  b.bucket.followShards(shards('replica', 2));
  const onDisk = async () => {
    disk.crash();
    const { opened } = await disk.engine().open(files);
    return opened.flatMap(({ vbuckets }) => vbuckets).find((record) => record.vb === vb);
  };
  return { b, disk, onDisk };
}

test('the history and the epoch are on disk before the vbucket is active, without its changes', async () => {
  const { b, onDisk } = await aCopy();
  const { columns, shards: states } = b.bucket;
  const written = columns.persistedSeqno[vb] as number;
  columns.epoch[vb] = 3;
  await whileTicking(b, states.prepare([vb], false));
  assert.equal(columns.persistedSeqno[vb], written, 'the changes wait for the flusher');
  const prepared = Buffer.from(b.bucket.history(vb));
  b.bucket.followShards(shards('active', 3));
  assert.equal(columns.state[vb], VbucketState.active);
  assert.equal(columns.servedUntilMs[vb], Infinity, 'the vbucket is not served at once');
  assert.deepEqual(
    Buffer.from(b.bucket.history(vb)),
    prepared,
    'another history than the prepared one is used',
  );
  const record = await onDisk();
  assert.deepEqual([record?.epoch, record?.highSeqno], [3, written]);
  assert.deepEqual(Buffer.from(record?.failover ?? ''), prepared);
});

test('a history is prepared with all changes on disk, if that is required', async () => {
  const { b } = await aCopy();
  await whileTicking(b, b.bucket.shards.prepare([vb], true));
  assert.equal(b.bucket.columns.persistedSeqno[vb], b.bucket.columns.highSeqno[vb]);
});

test('a copy that does not become active has the history that it had', async () => {
  const { b } = await aCopy();
  const before = Buffer.from(b.bucket.history(vb));
  await whileTicking(b, b.bucket.shards.prepare([vb], false));
  await whileTicking(b, b.bucket.shards.prepare([vb], false));
  assert.equal(
    b.bucket.history(vb).length,
    before.length + 16,
    'the history does not have exactly one more entry',
  );
  b.bucket.shards.revert([vb]);
  assert.deepEqual(Buffer.from(b.bucket.history(vb)), before);
});

test('a bucket is flushed after the states that are being written, whose seqnos its new files do not have', async () => {
  const gates: Promise<void>[] = [];
  const disk = new MemoryDisk({ sync: () => gates.shift() ?? Promise.resolve() });
  const storage = { disk: disk.engine(), files };
  const b = await new BucketUnderTest({ storage, shards: shards('active', 1) }).start();
  await whileTicking(b, b.bucket.writeAll());
  b.store('k', { vb });
  const gate = deferred<void>();
  gates.push(gate.promise);
  const written = b.bucket.shards.prepare([vb], true);
  const flushed = b.bucket.flush(2);
  await whileTicking(b, b.clock.sleep(100));
  gate.resolve();
  await whileTicking(b, Promise.all([written, flushed]));
  const { highSeqno, persistedSeqno } = b.bucket.columns;
  assert.deepEqual([highSeqno[vb], persistedSeqno[vb]], [0, 0]);
  await whileTicking(b, b.bucket.stop());
});

test('a history that was prepared before other changes is not used', async () => {
  const { b } = await aCopy();
  const { columns, shards: states } = b.bucket;
  await whileTicking(b, states.prepare([vb], false));
  const prepared = Buffer.from(b.bucket.history(vb)).toString('hex', 0, 8);
  (columns.highSeqno[vb] as number) += 1;
  await whileTicking(b, b.bucket.followShards(shards('active', 3)));
  assert.notEqual(Buffer.from(b.bucket.history(vb)).toString('hex', 0, 8), prepared);
});

/** A copy that has the snapshot that ends at seqno 2, and the changes up to 5 of the next one, which ends at 8. */
async function aHalfReceivedSnapshot() {
  const found = await aCopy();
  const { applier, columns } = found.b.bucket;
  assert.deepEqual([columns.persistedSeqno[vb], columns.highSeqno[vb]], [1, 2]);
  assert.equal(applier.begin(vb, { start: 3, end: 8 }), Status.success);
  assert.equal(applier.advance(vb, 5), Status.success);
  return { ...found, columns };
}

test('a copy that becomes active inside of a snapshot makes all its changes visible, and its history begins before the snapshot', async () => {
  for (const prepares of [false, true]) {
    const { b, columns, onDisk } = await aHalfReceivedSnapshot();
    const { changes, shards: states } = b.bucket;
    const [before] = changes.failoverLog(vb);
    assert.equal(changes.visibleSeqno(vb), 2);
    if (prepares) await whileTicking(b, states.prepare([vb], false));
    const log = changes.failoverLog(vb);
    await whileTicking(b, b.bucket.followShards(shards('active', 3)));
    assert.equal(changes.visibleSeqno(vb), 5, 'streams do not get the changes of the snapshot');
    const [newest, next] = changes.failoverLog(vb);
    assert.deepEqual([newest?.seqno, next], [2, before]);
    if (prepares) assert.deepEqual(newest, log[0], 'the history that was prepared is used');
    b.store('more', { vb });
    assert.equal(changes.visibleSeqno(vb), 6);
    await whileTicking(b, b.bucket.writeAll());
    const record = await onDisk();
    assert.deepEqual([record?.highSeqno, record?.snapStart, record?.snapEnd], [6, 6, 6]);
    assert.equal(columns.snapEnd[vb], 5);
  }
});

test('a history that was prepared inside of a snapshot is not used once the copy has received more of the snapshot', async () => {
  const { b } = await aHalfReceivedSnapshot();
  const { applier, changes, shards: states } = b.bucket;
  await whileTicking(b, states.prepare([vb], false));
  const [prepared] = changes.failoverLog(vb);
  assert.equal(applier.advance(vb, 6), Status.success);
  await whileTicking(b, b.bucket.followShards(shards('active', 3)));
  const [newest, next] = changes.failoverLog(vb);
  assert.deepEqual(
    [newest?.seqno, next],
    [2, prepared],
    'the later changes are on disk with another history',
  );
  assert.equal(b.bucket.columns.persistedSeqno[vb], 6);
});

test('a process that starts as the active inside of a snapshot makes all its changes visible, and its history begins before the snapshot', async () => {
  for (const isClean of [false, true]) {
    const { b, disk } = await aHalfReceivedSnapshot();
    await whileTicking<unknown>(b, isClean ? b.bucket.stop() : b.bucket.writeAll());
    if (!isClean) disk.crash();
    const storage = { disk: disk.engine(), files };
    const after = await new BucketUnderTest({ storage, shards: shards('active', 3) }).start();
    const { changes } = after.bucket;
    assert.deepEqual([changes.visibleSeqno(vb), changes.failoverLog(vb)[0]?.seqno], [5, 2]);
    assert.equal(changes.failoverLog(vb).length, 2);
  }
});

test('a process that became active inside of a snapshot begins no other history when it starts after a clean stop', async () => {
  const { b, disk } = await aHalfReceivedSnapshot();
  await whileTicking(b, b.bucket.writeAll());
  await whileTicking(b, b.bucket.shards.prepare([vb], false));
  await whileTicking(b, b.bucket.followShards(shards('active', 3)));
  const history = b.bucket.changes.failoverLog(vb);
  await whileTicking(b, b.bucket.stop());
  const storage = { disk: disk.engine(), files };
  const after = await new BucketUnderTest({ storage, shards: shards('active', 3) }).start();
  const { changes } = after.bucket;
  assert.deepEqual(changes.failoverLog(vb), history);
  assert.equal(changes.visibleSeqno(vb), 5);
});

test('a process that starts as the active makes each new change visible, although a snapshot had begun of which it has no change', async () => {
  for (const isActiveBefore of [false, true]) {
    const { b, disk } = await aCopy();
    assert.equal(b.bucket.applier.begin(vb, { start: 3, end: 8 }), Status.success);
    await whileTicking(b, b.bucket.shards.prepare([vb], true));
    if (isActiveBefore) await whileTicking(b, b.bucket.followShards(shards('active', 3)));
    await whileTicking(b, b.bucket.stop());
    const storage = { disk: disk.engine(), files };
    const after = await new BucketUnderTest({ storage, shards: shards('active', 3) }).start();
    after.store('more', { vb });
    assert.equal(after.bucket.changes.visibleSeqno(vb), 3, String(isActiveBefore));
  }
});

test('the file of an active records its last consistent seqno although it ends inside of a half-received snapshot', async () => {
  const { b, disk } = await aCopy();
  const { applier, columns } = b.bucket;
  assert.equal(applier.begin(vb, { start: 3, end: 8 }), Status.success);
  assert.equal(applier.advance(vb, 4), Status.success);
  await whileTicking(b, b.bucket.writeAll());
  assert.equal(applier.advance(vb, 5), Status.success);
  await whileTicking(b, b.bucket.shards.prepare([vb], false));
  await whileTicking(b, b.bucket.followShards(shards('active', 3)));
  await whileTicking(b, b.bucket.writeStates([vb], false));
  assert.equal(columns.persistedSeqno[vb], 4);
  disk.crash();
  const storage = { disk: disk.engine(), files };
  const after = await new BucketUnderTest({ storage, shards: shards('active', 4) }).start();
  const { changes } = after.bucket;
  assert.deepEqual([changes.highSeqno(vb), changes.failoverLog(vb)[0]?.seqno], [4, 2]);
});
