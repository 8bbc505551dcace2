// The start of a bucket with documents on disk: keys first, large values later, stopped at any time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { nextTurn, realClock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { eventually } from '../../../test/support/node-process.ts';
import type { ShardSpec } from '../admin.ts';
import type { DiskEngine } from '../data/disk-engine.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const files = { folder: '/w', bucketUuid: 'w', incarnation: 1, fileCount: 4 };
const large = 'L'.repeat(5000);

const aBucketOn = (disk: DiskEngine): BucketUnderTest => new BucketUnderTest({ storage: { disk, files } });

/** Stores forty documents, every second one large, and a tombstone. */
async function fill(disk: MemoryDisk): Promise<void> {
  const b = await aBucketOn(disk.engine()).start();
  for (let i = 0; i < 40; i++) b.store(`k${i}`, { vb: i, value: i % 2 ? large : 'small' });
  b.store('gone');
  b.remove('gone');
  await b.bucket.stop();
}

/** A disk on which some calls wait. */
function diskHeldAt(engine: DiskEngine, ...names: ('load' | 'largeItems')[]) {
  const gate = deferred<void>();
  const disk: DiskEngine = Object.create(engine);
  for (const name of names) {
    const act = engine[name].bind(engine) as (...args: unknown[]) => Promise<unknown>;
    Object.assign(disk, { [name]: (...args: unknown[]) => gate.promise.then(() => act(...args)) });
  }
  return { disk, release: () => gate.resolve() };
}

test('a bucket that is flushed while its files are loaded keeps what is written afterwards', async () => {
  const gates: Promise<void>[] = [];
  const disk = new MemoryDisk({ load: () => gates.shift() ?? Promise.resolve() });
  await fill(disk);
  const [first, others] = [deferred<void>(), deferred<void>()];
  gates.push(first.promise, others.promise, others.promise, others.promise);
  const b = aBucketOn(disk.engine());
  const started = b.start();
  await eventually(() => assert.equal(b.bucket.warmUpReport?.state, 'keys'));
  let isStored = false;
  const flushed = b.bucket.flush(2).then(() => {
    isStored = b.store('k1', { vb: 1 }) === Status.success;
  });
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await nextTurn(realClock);
  };
  first.resolve();
  await turns();
  others.resolve();
  await Promise.allSettled([started, flushed]);
  await turns();
  assert.deepEqual([isStored, b.find('k1', 1)], [true, Status.success]);
  await b.bucket.stop();
});

test('a bucket serves once all keys are loaded, fetches large values on demand, and loads the others in the background', async () => {
  const stored = new MemoryDisk();
  await fill(stored);
  const { disk, release } = diskHeldAt(stored.engine(), 'largeItems');
  const b = await aBucketOn(disk).start();
  assert.equal(b.bucket.state, 'ready');
  assert.equal(b.bucket.stats().items, 40);
  assert.equal(b.bucket.stats().nonResident, 20);
  const { state, keys, values, expected } = b.bucket.warmUpReport ?? {};
  assert.deepEqual(
    { state, keys, values, expected },
    { state: 'values', keys: 41, values: 21, expected: 41 },
  );
  assert.equal(await b.whenResident(() => b.find('k1', 1)), Status.success);
  assert.equal(b.value, large);
  assert.equal(b.store('k3', { vb: 3, value: 'newer' }), Status.success);
  release();
  await eventually(() => assert.equal(b.bucket.warmUpReport?.state, 'done'));
  assert.equal(b.bucket.stats().nonResident, 0);
  assert.equal(b.find('k3', 3), Status.success);
  assert.equal(b.value, 'newer');
  for (const i of [2, 5, 39]) {
    assert.equal(b.find(`k${i}`, i), Status.success);
    assert.equal(b.value, i % 2 ? large : 'small');
  }
  await b.bucket.stop();
});

test('a bucket reports its counts before the keys are loaded, and serves no requests until then', async () => {
  const stored = new MemoryDisk();
  await fill(stored);
  const { disk, release } = diskHeldAt(stored.engine(), 'load');
  const b = aBucketOn(disk);
  const started = b.bucket.start();
  await eventually(() => assert.equal(b.bucket.stats().items, 40));
  assert.equal(b.bucket.state, 'warmup');
  assert.equal(b.find('k0'), Status.temporaryFailure);
  release();
  await started;
  assert.equal(b.bucket.stats().items, 40);
  await b.bucket.stop();
});

test('documents of copies are not counted as items before the keys are loaded', async () => {
  const stored = new MemoryDisk();
  await fill(stored);
  const { disk, release } = diskHeldAt(stored.engine(), 'load');
  const shards = Array.from({ length: 64 }, (_, shard): ShardSpec => {
    return { state: shard < 10 ? 'active' : 'replica', epoch: 1, replicas: [] };
  });
  const b = new BucketUnderTest({ storage: { disk, files }, shards });
  const started = b.bucket.start();
  await eventually(() => assert.equal(b.bucket.warmUpReport?.expected, 41));
  assert.equal(b.bucket.stats().items, 10);
  release();
  await started;
  const { items, vbuckets } = b.bucket.stats();
  assert.deepEqual([items, vbuckets.replica.items], [10, 30]);
  await b.bucket.stop();
});

for (const unclean of [false, true]) {
  test(`a stop during the warm-up leaves ${unclean ? 'an unclean' : 'a clean'} bucket as it was`, async () => {
    const stored = new MemoryDisk();
    await fill(stored);
    if (unclean) {
      await aBucketOn(stored.engine()).start();
      stored.crash();
    }
    const { disk, release } = diskHeldAt(stored.engine(), 'load');
    const b = aBucketOn(disk);
    const started = b.bucket.start();
    await eventually(() => assert.equal(b.bucket.warmUpReport?.state, 'keys'));
    const stopped = b.bucket.stop();
    release();
    await Promise.all([started, stopped]);
    assert.equal(b.bucket.state, 'warmup');
    const { opened } = await stored.engine().open(files);
    assert.deepEqual(
      opened.map(({ clean }) => clean),
      opened.map(() => !unclean),
    );
  });
}

test('a flush during the warm-up leaves an empty bucket that serves', async () => {
  const stored = new MemoryDisk();
  await fill(stored);
  const { disk, release } = diskHeldAt(stored.engine(), 'load');
  const b = aBucketOn(disk);
  const started = b.bucket.start();
  await eventually(() => assert.equal(b.bucket.warmUpReport?.state, 'keys'));
  const flushed = b.bucket.flush(2);
  release();
  await Promise.all([started, flushed]);
  assert.deepEqual([b.bucket.state, b.bucket.stats().items], ['ready', 0]);
  assert.equal(b.store('k'), Status.success);
  await b.bucket.stop();
});

test('a bucket waits for disk space to open its files, says so, and then has every document', async () => {
  const stored = new MemoryDisk();
  await fill(stored);
  stored.hasNoSpaceToOpen = true;
  const b = aBucketOn(stored.engine());
  const started = b.bucket.start();
  await eventually(() => assert.match(b.bucket.warmUpReport?.noSpace ?? '', /no space left/));
  assert.deepEqual([b.bucket.state, b.bucket.damaged], ['warmup', []]);
  assert.equal(b.find('k0'), Status.temporaryFailure);
  stored.hasNoSpaceToOpen = false;
  await eventually(() => {
    b.tick(8_000);
    assert.equal(b.bucket.state, 'ready');
  });
  await started;
  assert.deepEqual([b.bucket.warmUpReport?.noSpace, b.bucket.stats().items], [undefined, 40]);
  await b.bucket.stop();
});

for (const [end, title] of [
  ['stop', 'stopped'],
  ['destroy', 'removed'],
  ['flush', 'flushed'],
] as const)
  test(`a bucket that waits for disk space can be ${title}`, async () => {
    const stored = new MemoryDisk();
    await fill(stored);
    stored.hasNoSpaceToOpen = true;
    const engine = stored.engine();
    const b = aBucketOn(engine);
    const started = b.bucket.start();
    await eventually(() => assert.ok(b.bucket.warmUpReport?.noSpace));
    if (end === 'flush') await b.bucket.flush(2);
    else await b.bucket[end]();
    await started;
    assert.equal(b.bucket.state, end === 'flush' ? 'ready' : 'warmup');
    assert.equal(b.bucket.warmUpReport?.noSpace, undefined);
    stored.hasNoSpaceToOpen = false;
    if (end === 'stop') assert.equal((await aBucketOn(engine).start()).bucket.stats().items, 40);
    if (end === 'destroy') assert.equal(stored.buckets.size, 0);
    if (end === 'flush') {
      b.store('later');
      await b.bucket.stop();
      const { opened } = await stored.engine().open({ ...files, incarnation: 2 });
      assert.ok(opened.length > 0 && opened.every(({ clean }) => clean));
    }
  });
