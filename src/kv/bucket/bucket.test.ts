import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { fileOf } from '../data/disk-engine.ts';
import { DurabilityLevel } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import type { BucketOptions } from './bucket-parts.ts';
import { durableWritesMax } from './durability/durable-writes.ts';
import { persistenceWaitsMax } from './durability/progress.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
const { majority, persistToMajority } = DurabilityLevel;

const onDisk = (disk: MemoryDisk, options: Partial<BucketOptions> & { clock?: ManualClock } = {}) =>
  new BucketUnderTest({ storage: { disk: disk.engine(), files }, ...options }).start();

/** Runs promises and immediates, and waits for the flusher's delay. */
async function runBackground(b: BucketUnderTest): Promise<void> {
  for (let i = 0; i < 5; i++) {
    b.tick(20);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A disk whose next syncs wait until the test releases them. */
function gatedDisk(): { disk: MemoryDisk; hold: () => void; release: () => void } {
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const disk = new MemoryDisk({ sync: () => gate.promise });
  return { disk, hold: () => void (gate = Promise.withResolvers<void>()), release: () => gate.resolve() };
}

test('every document is served after a restart, and the history is the same', async () => {
  const disk = new MemoryDisk();
  const first = await onDisk(disk);
  for (let i = 0; i < 500; i++) first.store(`k${i}`, { vb: i % 64, value: `v${i}`, flags: i, expiry: 0 });
  for (let i = 0; i < 500; i += 5) first.remove(`k${i}`, { vb: i % 64 });
  first.store('big', { value: Buffer.alloc(3_000_000, 7) });
  const before = first.bucket.stats();
  const history = first.bucket.documents.failoverLog(3);
  const seqno = first.bucket.documents.highSeqno(3);
  first.find('k3', 3);
  const { casHi, casLo, rev } = first.view;
  await first.bucket.stop();
  assert.equal(first.find('k3', 3), Status.temporaryFailure);
  const second = await onDisk(disk, { clock: first.clock });
  const { items, tombstones, collectionItems } = second.bucket.stats();
  assert.deepEqual(
    { items, tombstones, collectionItems },
    { items: 401, tombstones: 100, collectionItems: { 0: 401 } },
  );
  assert.equal(before.items, items);
  assert.deepEqual(second.bucket.documents.failoverLog(3), history);
  assert.deepEqual(
    [second.bucket.documents.highSeqno(3), second.bucket.documents.persistedSeqno(3)],
    [seqno, seqno],
  );
  assert.equal(second.find('k3', 3), Status.success);
  assert.deepEqual([second.value, second.view.flags, second.view.rev], ['v3', 3, rev]);
  assert.deepEqual([second.view.casHi, second.view.casLo], [casHi, casLo]);
  second.store('k0', { vb: 0 });
  second.find('k0', 0);
  assert.equal(second.view.rev, 3, 'a document that is created again has a revision above its old one');
});

test('changes are written to disk in the background, only the last of several of one key', async () => {
  const disk = new MemoryDisk();
  const b = await onDisk(disk);
  for (let i = 0; i < 100; i++) b.store('k', { value: `v${i}` });
  b.store('other');
  assert.deepEqual([b.bucket.stats().dirtyItems, b.bucket.documents.persistedSeqno(0)], [2, 0]);
  await runBackground(b);
  assert.deepEqual([b.bucket.stats().dirtyItems, b.bucket.documents.persistedSeqno(0)], [0, 101]);
  disk.crash();
  const after = await onDisk(disk, { clock: b.clock });
  after.find('k');
  assert.deepEqual([after.value, after.bucket.stats().items], ['v99', 2]);
});

test('a crash begins a new history at the persisted seqno, with CAS values above all earlier ones', async () => {
  const disk = new MemoryDisk();
  const first = await onDisk(disk);
  first.store('kept');
  await runBackground(first);
  const [old] = first.bucket.documents.failoverLog(0);
  for (let i = 0; i < 5000; i++) first.store('lost');
  const { cas } = first;
  disk.crash();
  first.clock.advance(1);
  const second = await onDisk(disk, { clock: first.clock });
  assert.deepEqual([second.find('kept'), second.find('lost')], [Status.success, Status.keyNotFound]);
  const log = second.bucket.documents.failoverLog(0);
  assert.deepEqual([log.length, log[0]?.seqno, log[1]], [2, 1, old]);
  second.store('new');
  assert.ok(second.cas.casHi > cas.casHi || (second.cas.casHi === cas.casHi && second.cas.casLo > cas.casLo));
  disk.crash();
  const third = await onDisk(disk, { clock: first.clock });
  assert.deepEqual(
    third.bucket.documents.failoverLog(0).slice(1),
    log,
    'streams that know the entry at the same seqno continue',
  );
});

test('a durable write becomes visible and is answered once it is on disk, and blocks other writes of its key until then', async () => {
  const { disk, hold, release } = gatedDisk();
  const b = await onDisk(disk);
  b.store('k', { value: 'old' });
  await runBackground(b);
  hold();
  assert.equal(b.store('k', { value: 'new', durability: persistToMajority }), Status.success);
  const token = b.result.pending;
  assert.ok(token > 0);
  assert.equal(b.remove('fresh', { durability: majority }), Status.keyNotFound);
  assert.equal(
    b.store('fresh', { value: 'f', durability: DurabilityLevel.majorityAndPersistActive }),
    Status.success,
  );
  const tokenOfFresh = b.result.pending;
  await runBackground(b);
  assert.deepEqual([b.find('k'), b.value], [Status.success, 'old']);
  assert.equal(b.find('fresh'), Status.keyNotFound);
  const others = [b.store('k'), b.remove('k'), b.touch('k'), b.lock('k'), b.store('fresh'), b.lock('fresh')];
  assert.deepEqual(others, Array(6).fill(Status.syncWriteInProgress));
  assert.equal(b.resolved.size, 0);
  release();
  await runBackground(b);
  assert.deepEqual(
    [...b.resolved],
    [
      [token, Status.success],
      [tokenOfFresh, Status.success],
    ],
  );
  assert.deepEqual([b.find('k'), b.value], [Status.success, 'new']);
  assert.deepEqual([b.find('fresh'), b.value], [Status.success, 'f']);
  assert.equal(b.store('k'), Status.success);
  assert.equal(b.bucket.stats().items, 2);
});

test('durable deletions and touches wait for the disk as well', async () => {
  const disk = new MemoryDisk();
  const b = await onDisk(disk, {
    rules: { quotaBytes: 2 ** 30, maxTtl: 0, durabilityMinLevel: persistToMajority, replicaNumber: 0 },
  });
  for (const step of ['store', 'touch', 'lock', 'remove'] as const) {
    if (step === 'lock') assert.equal(b.lock('k'), Status.success);
    else if (step === 'remove') assert.equal(b.remove('k', b.cas), Status.success);
    else assert.equal(b[step]('k', { expiry: step === 'touch' ? 100 : 0 }), Status.success);
    if (step === 'lock') continue;
    assert.ok(b.result.pending > 0, `${step} is raised to the bucket's level`);
    await runBackground(b);
    assert.equal(b.resolved.get(b.result.pending), Status.success);
  }
  assert.equal(b.find('k'), Status.keyNotFound);
  assert.deepEqual([b.findAny('k'), b.view.rev, b.view.isDeleted], [Status.success, 3, true]);
  assert.deepEqual([b.bucket.stats().items, b.bucket.stats().tombstones], [0, 1]);
});

test('a durable write that takes too long is answered as ambiguous and commits later', async () => {
  const { disk, hold, release } = gatedDisk();
  const b = await onDisk(disk);
  hold();
  b.store('k', { durability: persistToMajority, durabilityTimeoutMs: 500 });
  const token = b.result.pending;
  b.tick(400);
  assert.equal(b.resolved.size, 0);
  b.tick(200);
  assert.deepEqual([...b.resolved], [[token, Status.syncWriteAmbiguous]]);
  assert.equal(b.find('k'), Status.keyNotFound);
  await runBackground(b);
  release();
  await runBackground(b);
  assert.equal(b.find('k'), Status.success);
  assert.equal(b.resolved.size, 1);
});

test('after a failed commit writes are refused, reads continue and other files are still written', async () => {
  const disk = new MemoryDisk();
  const b = await onDisk(disk);
  b.store('k', { vb: 0 });
  await runBackground(b);
  b.store('k', { vb: 0, value: 'newer', durability: persistToMajority });
  const token = b.result.pending;
  let persisted: boolean | undefined;
  b.bucket.documents.whenPersisted(0, 2, 60_000, (answer) => (persisted = answer));
  disk.failNextWrite('disk full');
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([...b.resolved], [[token, Status.syncWriteAmbiguous]]);
  assert.equal(persisted, false);
  assert.deepEqual(
    [b.store('k', { vb: 1 }), b.remove('k'), b.touch('k')],
    Array(3).fill(Status.temporaryFailure),
  );
  assert.deepEqual([b.find('k'), b.value], [Status.success, 'value']);
  assert.match(b.bucket.writeFailure ?? '', /file 0: disk full/);
  await b.bucket.flush(2);
  assert.equal(b.bucket.writeFailure, null);
  assert.equal(b.store('k'), Status.success);
});

test('writes to a file are persisted after a commit of another file has failed', async () => {
  const disk = new MemoryDisk();
  const b = await onDisk(disk);
  b.store('a', { vb: 1 });
  b.store('b', { vb: 0, durability: persistToMajority });
  disk.failNextWrite('broken');
  await new Promise((resolve) => setImmediate(resolve));
  await runBackground(b);
  assert.equal(b.resolved.size, 1);
  assert.equal(b.bucket.documents.persistedSeqno(1), 1);
  await b.bucket.stop();
  const after = await onDisk(disk, { clock: b.clock });
  assert.deepEqual([after.find('a', 1), after.find('b')], [Status.success, Status.keyNotFound]);
  assert.equal(
    after.bucket.documents.failoverLog(0).length,
    1,
    'nothing was ever stored there: the one entry is new',
  );
});

test('a wait for a seqno ends when that is persisted, or when its time is over', async () => {
  const { disk, hold, release } = gatedDisk();
  const b = await onDisk(disk);
  const answers: boolean[] = [];
  const ask = (vb: number, seqno: number): void =>
    b.bucket.documents.whenPersisted(vb, seqno, 1000, (answer) => answers.push(answer));
  ask(0, 0);
  assert.deepEqual(answers, [true]);
  hold();
  b.store('k');
  ask(0, 1);
  await runBackground(b);
  assert.deepEqual(answers, [true]);
  release();
  await runBackground(b);
  assert.deepEqual(answers, [true, true]);
  ask(0, 99);
  b.tick(1100);
  assert.deepEqual(answers, [true, true, false]);
});

test('the calls and the durable writes that wait for the disk are bounded', async () => {
  const { disk, hold, release } = gatedDisk();
  const b = await onDisk(disk);
  hold();
  let waits = 0;
  const ask = (): void => b.bucket.documents.whenPersisted(0, 1, 60_000, () => waits++);
  for (let i = 0; i < persistenceWaitsMax; i++) ask();
  assert.equal(waits, 0);
  ask();
  assert.equal(waits, 1, 'the request above the limit was not answered at once');
  for (let i = 0; i < durableWritesMax; i++) {
    assert.equal(b.store(`k${i}`, { durability: persistToMajority, vb: i % 64 }), Status.success);
  }
  assert.equal(b.store('more', { durability: persistToMajority }), Status.temporaryFailure);
  release();
  for (let i = 0; i < 40 && b.resolved.size < durableWritesMax; i++) await runBackground(b);
  assert.deepEqual([b.resolved.size, waits], [durableWritesMax, persistenceWaitsMax + 1]);
});

test('a vbucket with too many dirty bytes refuses writes until the disk has caught up', async () => {
  const { disk, hold, release } = gatedDisk();
  const b = await onDisk(disk);
  hold();
  await runBackground(b);
  const value = Buffer.alloc(16 * 1024 * 1024);
  for (let i = 0; i < 4; i++) assert.equal(b.store(`k${i}`, { value }), Status.success);
  assert.equal(b.bucket.stats().dirtyItems, 4);
  assert.equal(b.store('k5', { value: 'small' }), Status.temporaryFailure);
  assert.equal(b.store('k5', { value: 'small', vb: 1 }), Status.success);
  assert.equal(b.remove('k3'), Status.success);
  release();
  await runBackground(b);
  assert.equal(b.store('k5', { value: 'small' }), Status.success);
});

test('a damaged file makes only its own vbuckets unavailable', async () => {
  const disk = new MemoryDisk();
  const b = await onDisk(disk);
  for (let vb = 0; vb < 64; vb++) b.store('k', { vb });
  await b.bucket.stop();
  disk.damage(files.folder, 2, 'torn page');
  const after = await onDisk(disk, { clock: b.clock });
  for (let vb = 0; vb < 64; vb++) {
    const isDamaged = fileOf(vb, 4) === 2;
    assert.equal(after.find('k', vb), isDamaged ? Status.temporaryFailure : Status.success);
    assert.equal(after.bucket.documents.isActive(vb), !isDamaged);
  }
  assert.deepEqual(
    after.bucket.damaged.map(({ file, reason }) => ({ file, reason })),
    [{ file: 2, reason: 'torn page' }],
  );
  assert.equal(after.bucket.state, 'ready');
  assert.equal(after.store('new', { vb: 1 }), Status.success);
  await after.bucket.stop();
});

test('after a restart a bucket has the documents stored since its flush, and none from before', async () => {
  const disk = new MemoryDisk();
  const b = await onDisk(disk);
  b.store('k', { vb: 5 });
  await b.bucket.flush(2);
  b.store('after', { vb: 5 });
  const [entry] = b.bucket.documents.failoverLog(5);
  await b.bucket.stop();
  const again = new BucketUnderTest({
    storage: { disk: disk.engine(), files: { ...files, incarnation: 2 } },
    clock: b.clock,
  });
  await again.start();
  assert.deepEqual([again.find('k', 5), again.find('after', 5)], [Status.keyNotFound, Status.success]);
  assert.deepEqual(again.bucket.documents.failoverLog(5), [entry]);
});

/** The periodic checks of memory and for expired documents. */
const timersAtRest = 2;

test('the start removes documents of a collection that was dropped while the bucket was down', async () => {
  const disk = new MemoryDisk();
  const manifest = (...uids: string[]) => ({
    uid: '1',
    scopes: [{ name: 's', uid: '8', collections: uids.map((uid) => ({ name: `c${uid}`, uid })) }],
  });
  const b = await onDisk(disk, { manifest: manifest('8', '9') });
  b.store('8:k');
  b.store('9:k');
  await b.bucket.stop();
  const after = await onDisk(disk, { clock: b.clock, manifest: manifest('8') });
  assert.deepEqual(after.bucket.stats().collectionItems, { 8: 1 });
  for (let i = 0; i < 3; i++) await runBackground(after);
  assert.deepEqual([after.bucket.stats().items, after.bucket.stats().tombstones], [1, 0]);
  await after.bucket.stop();
  const restarted = await onDisk(disk, { clock: b.clock, manifest: manifest('8') });
  assert.deepEqual([restarted.bucket.stats().items, restarted.bucket.stats().tombstones], [1, 0]);
  assert.equal(restarted.clock.pending, timersAtRest);
});

test('a dropped collection is removed from memory and disk, its durable writes once they are resolved', async () => {
  const manifest = (...uids: string[]) => ({
    uid: '1',
    scopes: [{ name: 's', uid: '8', collections: uids.map((uid) => ({ name: `c${uid}`, uid })) }],
  });
  const { disk, hold, release } = gatedDisk();
  const b = await onDisk(disk, { manifest: manifest('8', '9') });
  for (let i = 0; i < 300; i++) b.store(`9:${i}`, { vb: i % 64, value: Buffer.alloc(2000) });
  b.store('8:kept');
  await runBackground(b);
  const before = await b.bucket.diskSizes();
  hold();
  b.store('9:durable', { durability: persistToMajority });
  b.bucket.applyManifest(manifest('8'));
  await runBackground(b);
  release();
  for (let i = 0; i < 10; i++) await runBackground(b);
  const { items, tombstones, collectionItems } = b.bucket.stats();
  assert.deepEqual(
    { items, tombstones, collectionItems },
    { items: 1, tombstones: 0, collectionItems: { 8: 1 } },
  );
  assert.equal(b.resolved.get(1), Status.success);
  assert.ok((await b.bucket.diskSizes()).dataBytes < before.dataBytes / 5);
  assert.equal(b.find('8:kept'), Status.success);
  for (let second = 0; second < 10; second++) b.tick(1000); // the disk frees its log some seconds after a durable write
  assert.equal(b.clock.pending, timersAtRest, 'the removal of its documents has ended');
});

test('changes made during a commit are written by the next commit', async () => {
  const { disk, hold, release } = gatedDisk();
  const b = await onDisk(disk);
  hold();
  b.store('first');
  await runBackground(b);
  b.store('second');
  release();
  await runBackground(b);
  assert.equal(b.bucket.documents.persistedSeqno(0), 2);
});

test('after a crash with a clock set back, CAS values stay above the earlier ones', async () => {
  const disk = new MemoryDisk();
  const first = await onDisk(disk);
  first.store('k');
  await runBackground(first);
  const { cas } = first;
  disk.crash();
  const second = await onDisk(disk, { clock: new ManualClock(1_600_000_000_000) });
  second.store('k');
  const value = (words: { casHi: number; casLo: number }): bigint =>
    (BigInt(words.casHi) << 32n) | BigInt(words.casLo);
  assert.equal(value(second.cas), value(cas) + 2n ** 24n + 1n);
  await second.bucket.stop();
  const third = await onDisk(disk, { clock: new ManualClock(1_600_000_000_000) });
  third.store('k');
  assert.equal(value(third.cas), value(second.cas) + 1n, 'after a clean stop CAS values continue');
});

test('a new document gets a higher revision than durably deleted ones had', async () => {
  const b = await onDisk(new MemoryDisk());
  for (let i = 0; i < 4; i++) b.store('k');
  b.remove('k', { durability: persistToMajority });
  await runBackground(b);
  b.store('new');
  b.find('new');
  assert.equal(b.view.rev, 6);
});

test('a new document gets a higher revision than durably deleted ones had, after a restart as well', async () => {
  const disk = new MemoryDisk();
  const first = await onDisk(disk);
  for (let i = 0; i < 4; i++) first.store('k');
  first.remove('k', { durability: persistToMajority });
  await runBackground(first);
  await first.bucket.stop();
  const second = await onDisk(disk, { clock: first.clock });
  second.store('new');
  second.find('new');
  assert.equal(second.view.rev, 6);
});

test('a bucket whose files could not be opened can be stopped', async () => {
  const disk = new MemoryDisk();
  const b = new BucketUnderTest({ storage: { disk: disk.engine(), files } });
  disk.crash();
  await assert.rejects(b.start(), /stopped/);
  assert.equal(b.find('k'), Status.temporaryFailure);
  await b.bucket.stop();
});

test('destroying a bucket removes its files', async () => {
  const disk = new MemoryDisk();
  const b = await onDisk(disk);
  b.store('k');
  await b.bucket.destroy();
  assert.equal(disk.buckets.size, 0);
  assert.equal(b.find('k'), Status.temporaryFailure);
});
