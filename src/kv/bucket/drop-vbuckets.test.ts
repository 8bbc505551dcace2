// Vbuckets that the map no longer gives to a node leave its memory, its disk and its counts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import type { ShardSpec } from '../admin.ts';
import type { DiskEngine } from '../data/disk-engine.ts';
import { DurabilityLevel } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const files = { folder: '/drop', bucketUuid: 'd', incarnation: 1, fileCount: 4 };
const manifest = {
  uid: '1',
  scopes: [
    {
      name: '_default',
      uid: '0',
      collections: [
        { name: '_default', uid: '0' },
        { name: 'c', uid: '8' },
      ],
    },
  ],
};
const rules = { quotaBytes: 2 ** 28, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 };
const droppedVbucket = 5;
const shards = (state: ShardSpec['state'], epoch: number): ShardSpec[] =>
  Array.from({ length: 64 }, (_, shard) => ({
    state: shard === droppedVbucket ? state : 'active',
    epoch,
    replicas: [],
  }));

const start = (disk: DiskEngine, state: ShardSpec['state']): Promise<BucketUnderTest> =>
  new BucketUnderTest({ storage: { disk, files }, manifest, rules, shards: shards(state, 1) }).start();

/** A bucket whose documents are on disk, and one of whose vbuckets the map has given to another node. */
async function startToDrop(disk: DiskEngine): Promise<BucketUnderTest> {
  const b = await start(disk, 'active');
  fill(b, 'v');
  await untilIdle(b);
  await b.bucket.followShards(shards('dead', 2));
  return b;
}

async function untilIdle(b: BucketUnderTest): Promise<void> {
  for (let i = 0; i < 40; i++) {
    b.tick(25);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const fill = (b: BucketUnderTest, value: string): void => {
  for (let i = 0; i < 20; i++)
    for (const vb of [droppedVbucket, 6])
      for (const key of [`k${i}`, `8:k${i}`]) assert.equal(b.store(key, { vb, value }), Status.success);
  for (const vb of [droppedVbucket, 6]) assert.equal(b.remove('k3', { vb }), Status.success);
};

const counts = ({ bucket }: BucketUnderTest) => {
  const { items, vbuckets, collectionItems } = bucket.stats();
  return { items, active: vbuckets.active.items, collections: Object.entries(collectionItems) };
};

for (const policy of ['valueOnly', 'fullEviction', 'ephemeral'] as const)
  test(`${policy}: a dropped vbucket leaves memory, disk and counts, and can be rebuilt`, async () => {
    const disk = new MemoryDisk();
    const start = (state: ShardSpec['state'], epoch: number) =>
      new BucketUnderTest({
        ...(policy !== 'ephemeral' && { storage: { disk: disk.engine(), files }, evictionPolicy: policy }),
        manifest,
        shards: shards(state, epoch),
        rules,
      }).start();
    const b = await start('active', 1);
    fill(b, 'v'.repeat(3000));
    await untilIdle(b);
    // The newest change is not on disk yet.
    assert.equal(b.store('k4', { vb: droppedVbucket, value: 'newer' }), Status.success);
    const before = counts(b);
    await b.bucket.followShards(shards('dead', 2));
    const dropping = b.bucket.drop([droppedVbucket]);
    await untilIdle(b);
    await dropping;
    const { columns } = b.bucket;
    assert.deepEqual(
      [
        columns.highSeqno[droppedVbucket],
        columns.items[droppedVbucket],
        columns.dirtyCount[droppedVbucket],
        columns.epoch[droppedVbucket],
      ],
      [0, 0, 0, 2],
    );
    assert.deepEqual(counts(b).items, before.items / 2);
    assert.deepEqual(
      counts(b).collections,
      before.collections.map(([id, count]) => [id, count / 2]),
    );
    assert.equal(b.find('k1', 6), Status.success);
    if (policy === 'ephemeral') return;
    await b.bucket.stop();
    const again = await start('dead', 2);
    await untilIdle(again);
    assert.deepEqual(
      [again.bucket.columns.highSeqno[droppedVbucket], again.bucket.columns.epoch[droppedVbucket]],
      [0, 2],
    );
    assert.deepEqual(counts(again), counts(b));
    await again.bucket.followShards(shards('active', 3));
    assert.equal(again.find('k1', droppedVbucket), Status.keyNotFound);
    assert.equal(again.store('k1', { vb: droppedVbucket }), Status.success);
    await again.bucket.stop();
  });

test('a vbucket that the disk does not remove stays as it is, after a restart too, and can be removed later', async () => {
  const disk = new MemoryDisk();
  const engine = disk.engine();
  const b = await startToDrop(engine);
  const high = b.bucket.columns.highSeqno[droppedVbucket] as number;
  const drop = engine.drop.bind(engine);
  engine.drop = () => Promise.reject(new Error('input/output error'));
  const failing = b.bucket.drop([droppedVbucket]);
  await Promise.all([untilIdle(b), assert.rejects(failing, { message: 'input/output error' })]);
  assert.equal(b.bucket.columns.highSeqno[droppedVbucket], high);
  disk.crash();
  const again = await start(disk.engine(), 'active');
  assert.equal(again.bucket.columns.highSeqno[droppedVbucket], high);
  assert.equal(again.find('k1', droppedVbucket), Status.success);
  engine.drop = drop;
  await again.bucket.followShards(shards('dead', 3));
  const dropping = again.bucket.drop([droppedVbucket]);
  await Promise.all([untilIdle(again), dropping]);
  assert.equal(again.bucket.columns.highSeqno[droppedVbucket], 0);
  await again.bucket.stop();
});

test('a vbucket is not removed while its last changes wait for disk space, and does not come back', async () => {
  const disk = new MemoryDisk();
  const b = await start(disk.engine(), 'active');
  await untilIdle(b);
  disk.isFull = true;
  fill(b, 'v');
  await untilIdle(b);
  await b.bucket.followShards(shards('dead', 2));
  const refused = assert.rejects(b.bucket.drop([droppedVbucket]), { message: 'the disk takes no changes' });
  await Promise.all([untilIdle(b), refused]);
  assert.notEqual(b.bucket.columns.highSeqno[droppedVbucket], 0);
  disk.isFull = false;
  // Before the flusher has tried again.
  const dropping = b.bucket.drop([droppedVbucket]);
  await dropping;
  await untilIdle(b);
  await b.bucket.stop();
  const again = await start(disk.engine(), 'dead');
  const { epoch, highSeqno } = again.bucket.columns;
  assert.deepEqual([highSeqno[droppedVbucket], epoch[droppedVbucket]], [0, 2]);
  await again.bucket.stop();
});

test('a bucket that stops first ends its removals and the work that waits for them: neither uses the disk engine afterwards', async () => {
  const disk = new MemoryDisk();
  const engine = disk.engine();
  const b = await start(engine, 'active');
  fill(b, 'v');
  await untilIdle(b);
  const gate = deferred<void>();
  const drop = engine.drop.bind(engine);
  const dropped: number[] = [];
  engine.drop = async (uuid, file, vbs) => {
    await gate.promise;
    dropped.push(...vbs);
    await drop(uuid, file, vbs);
  };
  const dropping = assert.rejects(b.bucket.drop([droppedVbucket, 6]), { message: 'the bucket stops' });
  await untilIdle(b);
  const written = b.bucket.writeStates([6]);
  let isStopped = false;
  const stopping = b.bucket.stop().then(() => {
    isStopped = true;
  });
  await untilIdle(b);
  assert.equal(isStopped, false);
  gate.resolve();
  await Promise.all([dropping, stopping]);
  assert.deepEqual(dropped, [droppedVbucket]);
  assert.deepEqual(await written, [6]);
});

test('a removal begins after the writes of states under way, which would otherwise bring the vbucket back without documents', async () => {
  const engine = new MemoryDisk().engine();
  const b = await startToDrop(engine);
  const gate = deferred<void>();
  let commitsInRemoval: number | null = null;
  const drop = engine.drop.bind(engine);
  engine.drop = async (...removed) => {
    commitsInRemoval = 0;
    await drop(...removed);
    await gate.promise;
  };
  const commit = engine.commit.bind(engine);
  engine.commit = (...batch) => {
    if (commitsInRemoval !== null) commitsInRemoval++;
    return commit(...batch);
  };
  const inSameFile = droppedVbucket + files.fileCount;
  const value = 'v'.repeat(100_000);
  for (let i = 0; i < 20; i++) b.store(`large ${i}`, { vb: inSameFile, value });
  const written = b.bucket.writeStates([inSameFile, droppedVbucket]);
  const dropping = b.bucket.drop([droppedVbucket]);
  await untilIdle(b);
  assert.equal(commitsInRemoval, 0);
  gate.resolve();
  await dropping;
  assert.deepEqual(await written, [inSameFile, droppedVbucket]);
  await b.bucket.stop();
});

test('a removal that waits for a write of states under way delays no client that waits for the disk', async () => {
  const engine = new MemoryDisk().engine();
  const b = await start(engine, 'active');
  await untilIdle(b);
  await b.bucket.followShards(shards('dead', 2));
  const gate = deferred<void>();
  const inSameFile = droppedVbucket + files.fileCount;
  const commit = engine.commit.bind(engine);
  engine.commit = async (bucketUuid, file, ...batch) => {
    if (file === inSameFile % files.fileCount) await gate.promise;
    return await commit(bucketUuid, file, ...batch);
  };
  const value = 'v'.repeat(100_000);
  for (let i = 0; i < 20; i++) b.store(`large ${i}`, { vb: inSameFile, value });
  const written = b.bucket.writeStates([inSameFile]);
  const dropping = b.bucket.drop([droppedVbucket]);
  b.store('durable', { vb: 6, durability: DurabilityLevel.persistToMajority });
  const token = b.result.pending;
  await untilIdle(b);
  assert.equal(b.resolved.get(token), Status.success);
  gate.resolve();
  await Promise.all([dropping, written, untilIdle(b)]);
  await b.bucket.stop();
});

test('states are written after the removal of their vbucket: otherwise the vbucket would be back, without documents, after a crash', async () => {
  const disk = new MemoryDisk();
  const engine = disk.engine();
  const b = await startToDrop(engine);
  const [removed, gate] = [deferred<void>(), deferred<void>()];
  const drop = engine.drop.bind(engine);
  engine.drop = async (...request) => {
    await drop(...request);
    removed.resolve();
    await gate.promise;
  };
  const dropping = b.bucket.drop([droppedVbucket]);
  await Promise.all([removed.promise, untilIdle(b)]);
  const written = b.bucket.writeStates([droppedVbucket]);
  const others = await Promise.all([b.bucket.writeStates([6]), untilIdle(b)]);
  assert.deepEqual(others[0], [6]);
  disk.crash();
  const again = await start(disk.engine(), 'dead');
  await untilIdle(again);
  assert.equal(again.bucket.columns.highSeqno[droppedVbucket], 0);
  gate.resolve();
  await Promise.all([dropping, untilIdle(b)]).catch(() => {});
  await written;
});
