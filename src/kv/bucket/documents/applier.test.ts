// A copy applies the changes of its active. Both are whole buckets; the tests pass the changes from one to the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf } from '../../../../test/support/a-bucket.ts';
import { manifestOf } from '../../../../test/support/manifest-of.ts';
import { aSeed, type Random } from '../../../../test/support/random.ts';
import type { ShardSpec } from '../../admin.ts';
import { type CutItem, emptyCutItem } from '../../data/cut.ts';
import { DurabilityLevel, emptyItemView } from '../../data/documents.ts';
import { CopyPhase, type VbucketStateName } from '../../data/vbucket-state.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';
import { figuresOf } from '../../vbucket/figures.ts';
import type { BucketOptions } from '../bucket-parts.ts';

const files = { folder: '/c', bucketUuid: 'c', incarnation: 1, fileCount: 4 };
const inState = (state: VbucketStateName, epoch: number): ShardSpec[] =>
  Array.from({ length: 64 }, () => ({ state, epoch, replicas: [] }));
const manifest = manifestOf([0, 8], 1);
const rules = {
  quotaBytes: 4 * 1024 * 1024,
  maxTtl: 0,
  durabilityMinLevel: DurabilityLevel.none,
  replicaNumber: 1,
};
type Options = Partial<Omit<BucketOptions, 'clock'>>;
const onDisk = (disk: MemoryDisk) => ({ storage: { disk: disk.engine(), files } });

const anActive = (options: Options = {}) => new BucketUnderTest({ manifest, rules, ...options }).start();
const aCopy = (options: Options = {}) =>
  new BucketUnderTest({ manifest, rules, shards: inState('replica', 3), ...options }).start();

/** Passes the changes of a vbucket to its copy, from a position on, as snapshots of the active. */
class Follower {
  readonly vb: number;
  private readonly from: BucketUnderTest;
  position = 0;

  constructor(from: BucketUnderTest, vb: number) {
    this.from = from;
    this.vb = vb;
    from.bucket.changes.follow(vb, { position: 0, changed: () => {} });
  }

  async pass(to: BucketUnderTest): Promise<void> {
    const { vb, position } = this;
    const { changes } = this.from.bucket;
    const end = changes.recentEnd(vb, position);
    if (end === position) return;
    const { applier } = to.bucket;
    const first = this.next();
    assert.equal(applier.begin(vb, { start: position + 1, end }), Status.success);
    for (let item = first; item !== null; item = this.next()) {
      const copied = { ...item };
      await to.untilApplied(() => applier.apply(vb, copied));
      this.position = copied.seqno;
    }
    assert.equal(applier.advance(vb, end), Status.success);
    this.position = end;
  }

  /** The next change, whose key and value are not in memory that the other bucket can change. */
  next(): CutItem | null {
    const { changes } = this.from.bucket;
    const item = emptyCutItem();
    const end = changes.recentEnd(this.vb, this.position);
    return changes.readNext(this.vb, this.position, end, item) > 0 ? item : null;
  }
}

async function runTimers(b: BucketUnderTest, times = 20): Promise<void> {
  for (let i = 0; i < times; i++) {
    b.tick(25);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The fields of a version that a client, a stream or a file shows. */
async function versionOf(b: BucketUnderTest, key: string, vb: number, isCopy: boolean) {
  const bytes = keyOf(key);
  const view = emptyItemView();
  const find = () =>
    isCopy
      ? b.bucket.documents.findReplica(vb, bytes, 0, bytes.length, view)
      : b.bucket.documents.findAny(vb, bytes, 0, bytes.length, view);
  const status = await b.whenResident(find);
  if (status !== Status.success) return { status };
  const { casHi, casLo, seqno, rev, flags, expiry, datatype, isDeleted } = view;
  const value = view.buffer.toString('latin1', view.valueStart, view.valueEnd);
  return { casHi, casLo, seqno, rev, flags, expiry, datatype, isDeleted, value };
}

const keys = ['a', 'b', 'c', '8:a', '8:b', '8:c'];
const vbs = [0, 1, 17];

async function checkEqual(active: BucketUnderTest, copy: BucketUnderTest, isCopy = true): Promise<void> {
  for (const vb of vbs) {
    for (const key of keys) {
      const of = await Promise.all([versionOf(active, key, vb, false), versionOf(copy, key, vb, isCopy)]);
      assert.deepEqual(of[1], of[0], `${key} of ${vb}`);
    }
    const figures = [active, copy].map(({ bucket }) => {
      const { items, tombstones, purgeSeqno } = figuresOf(bucket.columns, vb);
      return { items, tombstones, purgeSeqno, high: bucket.documents.highSeqno(vb) };
    });
    assert.deepEqual(figures[1], figures[0], `figures of ${vb}`);
  }
  const [counts, ofCopy] = [active, copy].map(({ bucket }) => bucket.stats().collectionItems);
  const none = Object.fromEntries(Object.keys(counts ?? {}).map((collection) => [collection, 0]));
  assert.deepEqual(ofCopy, isCopy ? none : counts, 'a node counts the documents of its active vbuckets');
}

const kinds: Record<string, () => Options> = {
  ephemeral: () => ({}),
  valueOnly: () => onDisk(new MemoryDisk()),
  fullEviction: () => ({ ...onDisk(new MemoryDisk()), evictionPolicy: 'fullEviction' }),
};

for (const [name, options] of Object.entries(kinds)) {
  test(`${name}: a copy has every version as its active made it`, async (t) => {
    const random = aSeed(t);
    const active = await anActive();
    const copy = await aCopy(options());
    const followers = vbs.map((vb) => new Follower(active, vb));
    for (let round = 0; round < 60; round++) {
      for (let i = 0; i < 10; i++) change(active, random);
      for (const follower of followers) await follower.pass(copy);
      if (round % 7 === 0) {
        await runTimers(copy);
        for (const vb of vbs) for (const key of keys) copy.bucket.keys.evict(vb, keyOf(key));
      }
      active.tick(50);
    }
    await checkEqual(active, copy);
  });
}

function change(b: BucketUnderTest, random: Random): void {
  const key = keys[random(keys.length)] as string;
  const vb = vbs[random(vbs.length)] as number;
  const expiry = random(4) === 0 ? 1_000 : 0;
  if (random(3) === 0) b.remove(key, { vb });
  else b.store(key, { vb, expiry, flags: random(9), value: 'v'.repeat(random(300)) });
}

test('a copy replaces a newer version of its own by that of the active, without conflict resolution', async () => {
  const active = await anActive();
  const copy = await anActive();
  copy.tick(10_000);
  for (let i = 0; i < 5; i++) copy.store('a', { value: 'newer, with a higher revision' });
  await copy.bucket.followShards(inState('replica', 4));
  const follower = new Follower(active, 0);
  follower.position = copy.bucket.documents.highSeqno(0);
  for (let i = 0; i < 20; i++) active.store('a', { value: `v${i}` });
  await follower.pass(copy);
  assert.deepEqual(await versionOf(copy, 'a', 0, true), await versionOf(active, 'a', 0, false));
});

test('a copy has its snapshot and its phase after a restart, and continues from its position', async () => {
  const active = await anActive();
  const disk = new MemoryDisk();
  const copy = await aCopy(onDisk(disk));
  const follower = new Follower(active, 0);
  for (const key of keys) active.store(key);
  const { applier } = copy.bucket;
  assert.equal(applier.setPhase(0, CopyPhase.filling), Status.success);
  const end = active.bucket.documents.highSeqno(0);
  assert.equal(applier.begin(0, { start: 1, end }), Status.success);
  for (let i = 0; i < 3; i++) {
    const item = follower.next() as CutItem;
    assert.equal(applier.apply(0, item), Status.success);
    follower.position = item.seqno;
  }
  assert.equal(copy.bucket.changes.visibleSeqno(0), 0, 'a part of a snapshot is not shown');
  await runTimers(copy);
  disk.crash();
  const after = await aCopy(onDisk(disk));
  assert.equal(after.bucket.documents.highSeqno(0), follower.position);
  assert.equal(after.bucket.changes.visibleSeqno(0), 0);
  assert.equal(
    after.bucket.applier.begin(0, { start: 9, end: 12 }),
    Status.outOfRange,
    'the last snapshot is not complete',
  );
  for (let item = follower.next(); item !== null; item = follower.next()) {
    assert.equal(after.bucket.applier.apply(0, item), Status.success);
    follower.position = item.seqno;
  }
  assert.equal(after.bucket.changes.visibleSeqno(0), end);
  for (const key of keys)
    assert.deepEqual(await versionOf(after, key, 0, true), await versionOf(active, key, 0, false));
});

test('a copy whose state was written ahead of its changes continues after a crash', async () => {
  const active = await anActive();
  const disk = new MemoryDisk();
  const copy = await aCopy(onDisk(disk));
  const follower = new Follower(active, 0);
  active.store('a');
  await follower.pass(copy);
  await runTimers(copy);
  for (const key of ['b', 'c', '8:a']) {
    active.store(key);
    await follower.pass(copy);
  }
  assert.deepEqual(await copy.bucket.writeStates([0], false), [0]);
  const persisted = copy.bucket.columns.persistedSeqno[0] as number;
  const end = active.bucket.documents.highSeqno(0);
  assert.ok(persisted < end - 1, 'the persisted seqno is not in an earlier snapshot');
  disk.crash();
  const after = await aCopy(onDisk(disk));
  const { columns } = after.bucket;
  assert.deepEqual(
    [columns.highSeqno[0], columns.snapStart[0], columns.snapEnd[0]],
    [persisted, persisted + 1, end],
  );
  assert.equal(
    after.bucket.changes.visibleSeqno(0),
    persisted,
    'the changes up to the persisted seqno are not visible',
  );
  follower.position = persisted;
  // Files of earlier versions have this value.
  columns.snapStart[0] = end;
  await follower.pass(after);
  assert.deepEqual([columns.highSeqno[0], columns.copy[0]], [end, CopyPhase.following]);
  assert.equal(after.bucket.changes.visibleSeqno(0), end);
});

test('streams of a copy without a disk learn of seqnos that no key has, also of more than they could read from memory', async () => {
  const copy = await aCopy();
  const { applier, changes } = copy.bucket;
  let calls = 0;
  changes.follow(0, { position: 0, changed: () => calls++ });
  for (const [start, end] of [
    [1, 100],
    [101, 100_000],
  ] as const) {
    assert.equal(applier.begin(0, { start, end }), Status.success);
    assert.equal(applier.advance(0, end), Status.success);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(changes.visibleSeqno(0), end);
    const { toSeqno, endSeqno } = await changes.backfill(0, start - 1);
    assert.deepEqual([toSeqno, endSeqno], [end, end]);
  }
  assert.equal(calls, 2);
});

test('a snapshot or a change that does not continue the copy is refused, and nothing is changed', async () => {
  const active = await anActive();
  const copy = await aCopy();
  const follower = new Follower(active, 0);
  for (const key of keys) active.store(key);
  await follower.pass(copy);
  const high = copy.bucket.documents.highSeqno(0);
  const { applier } = copy.bucket;
  follower.position = 2;
  const old = follower.next() as CutItem;
  assert.equal(applier.apply(0, old), Status.outOfRange, 'the copy has it');
  assert.equal(applier.begin(0, { start: high, end: high + 4 }), Status.outOfRange);
  assert.equal(
    applier.begin(0, { start: high + 2, end: high + 4 }),
    Status.outOfRange,
    'a change is missing',
  );
  assert.equal(applier.begin(0, { start: high + 2, end: high + 1 }), Status.outOfRange);
  assert.equal(applier.begin(0, { start: high + 1, end: high + 4 }), Status.success);
  assert.equal(
    applier.apply(0, { ...old, seqno: high + 5 }),
    Status.outOfRange,
    'applied a change outside of the snapshot',
  );
  assert.equal(applier.advance(0, high + 5), Status.outOfRange);
  assert.equal(copy.bucket.documents.highSeqno(0), high);
  await copy.bucket.followShards(inState('active', 5));
  assert.equal(applier.apply(0, { ...old, seqno: high + 1 }), Status.notMyVbucket);
  assert.equal(applier.begin(0, { start: high + 5, end: high + 6 }), Status.notMyVbucket);
  assert.equal(applier.adoptHistory(0, new Uint8Array(16)), Status.notMyVbucket);
});

test('a copy that becomes active continues above its highest seqno, with the history of its active', async () => {
  const active = await anActive({ manifest: manifestOf([0], 0) });
  const disk = new MemoryDisk();
  const copy = await aCopy(onDisk(disk));
  const followers = vbs.map((vb) => new Follower(active, vb));
  active.bucket.applyManifest(manifestOf([0, 8, 9], 2));
  for (const vb of vbs) for (const key of keys) active.store(key, { vb });
  for (const follower of followers) {
    const log = active.bucket.documents.failoverLog(follower.vb);
    const encoded = Buffer.alloc(16);
    encoded.writeUInt32BE(log[0]?.uuidHi ?? 0, 0);
    encoded.writeUInt32BE(log[0]?.uuidLo ?? 0, 4);
    assert.equal(copy.bucket.applier.adoptHistory(follower.vb, encoded), Status.success);
    await follower.pass(copy);
  }
  await runTimers(copy);
  copy.bucket.applyManifest(manifestOf([0, 8, 9], 2));
  const high = vbs.map((vb) => copy.bucket.documents.highSeqno(vb));
  await copy.bucket.followShards(inState('active', 4));
  assert.deepEqual(
    vbs.map((vb) => copy.bucket.documents.highSeqno(vb)),
    high,
    'the events of the active are known: none is recorded again',
  );
  await checkEqual(active, copy, false);
  for (const vb of vbs) {
    const [ownEntry, ofActive] = copy.bucket.documents.failoverLog(vb);
    assert.deepEqual(
      [ownEntry?.seqno, ofActive],
      [high[vbs.indexOf(vb)], active.bucket.documents.failoverLog(vb)[0]],
    );
    const before = await versionOf(active, 'a', vb, false);
    assert.equal(copy.store('a', { vb, value: 'after' }), Status.success);
    const after = await versionOf(copy, 'a', vb, false);
    assert.ok('rev' in before && 'rev' in after && after.rev === before.rev + 1);
    assert.equal(after.seqno, (high[vbs.indexOf(vb)] ?? 0) + 1);
  }
});

test('a copy counts versions that were made at times too far from its clock', async () => {
  const active = await anActive();
  const copy = await aCopy();
  const follower = new Follower(active, 1);
  active.store('a', { vb: 1 });
  await follower.pass(copy);
  active.tick(6_000);
  active.store('b', { vb: 1 });
  await follower.pass(copy);
  const { us: _, ...counts } = copy.bucket.activity().drift.replica;
  assert.deepEqual(counts, { writes: 2, ahead: 1, behind: 0 });
  assert.equal(active.bucket.activity().drift.active.writes, 0);
});
