// Rollbacks of a vbucket: what a copy has after one, and after the changes that follow, is what its active has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf } from '../../../../test/support/a-bucket.ts';
import { aSeed, type Random } from '../../../../test/support/random.ts';
import type { EvictionPolicy, ShardSpec } from '../../admin.ts';
import { type CutItem, CutReader, CutWriter, stateOfVbucket } from '../../data/cut.ts';
import { DurabilityLevel, emptyItemView } from '../../data/documents.ts';
import type { VbucketStateName } from '../../data/vbucket-state.ts';
import { MemoryDisk } from '../../disk/memory-engine.ts';

const vb = 0;
const keyCount = 60;
const files = { folder: '/c', bucketUuid: 'c', incarnation: 1, fileCount: 4 };
const inState = (state: VbucketStateName, epoch: number): ShardSpec[] =>
  Array.from({ length: 64 }, () => ({ state, epoch, replicas: [] }));

interface Options {
  disk?: MemoryDisk;
  evictionPolicy?: EvictionPolicy;
  quotaBytes?: number;
}

const aBucketIn = (
  state: VbucketStateName,
  { disk = new MemoryDisk(), evictionPolicy = 'valueOnly', quotaBytes = 2 ** 30 }: Options = {},
): Promise<BucketUnderTest> =>
  new BucketUnderTest({
    rules: { quotaBytes, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 1 },
    shards: inState(state, 3),
    evictionPolicy,
    storage: { disk: disk.engine(), files },
  }).start();

/** Copies the changes after the high seqno of the copy. */
async function pass(from: BucketUnderTest, to: BucketUnderTest): Promise<void> {
  await from.bucket.writeStates([vb]);
  const { applier, columns } = to.bucket;
  while ((columns.highSeqno[vb] as number) < (from.bucket.columns.highSeqno[vb] as number)) {
    const start = (columns.highSeqno[vb] as number) + 1;
    const page = await from.bucket.changes.backfillForCopy(vb, start - 1);
    assert.equal(applier.begin(vb, { start, end: Math.max(page.endSeqno, page.toSeqno) }), Status.success);
    for (const item of itemsOf(page.batch)) {
      const status = await to.whenResident(() => applier.apply(vb, item));
      assert.equal(status, Status.success);
    }
    assert.equal(applier.advance(vb, page.toSeqno), Status.success);
  }
  assert.equal(applier.adoptHistory(vb, from.bucket.history(vb)), Status.success);
  await to.bucket.writeStates([vb]);
}

function itemsOf(batch: Uint8Array): CutItem[] {
  const reader = new CutReader(batch);
  const items: CutItem[] = [];
  while (reader.nextCut()) while (reader.nextItem()) items.push({ ...reader.item });
  return items;
}

function change(b: BucketUnderTest, random: Random, count: number, valueBytes = 20): void {
  for (let i = 0; i < count; i++) {
    const key = `k${random(keyCount)}`;
    if (random(4) === 0) b.remove(key);
    else b.store(key, { value: `${random(1e6)}`.padEnd(random(10) === 0 ? 3_000 : valueBytes, '.') });
  }
}

/** All documents and tombstones with their metadata, the counts, and the position. */
async function stateOf(b: BucketUnderTest): Promise<string[]> {
  const { columns, documents } = b.bucket;
  const view = emptyItemView();
  const find = documents.isActive(vb)
    ? documents.findAny.bind(documents)
    : documents.findReplica.bind(documents);
  const found: string[] = [];
  for (let i = 0; i < keyCount; i++) {
    const key = keyOf(`k${i}`);
    const status = await b.whenResident(() => find(vb, key, 0, key.length, view));
    if (status === Status.keyNotFound) continue;
    const { buffer, casHi, casLo, isDeleted, expiry, flags, rev, seqno, valueEnd, valueStart } = view;
    const value = buffer.toString('latin1', valueStart, valueEnd);
    found.push(JSON.stringify([i, status, value, casHi, casLo, rev, seqno, isDeleted, expiry, flags]));
  }
  const counts = [columns.highSeqno, columns.items, columns.tombstones].map((column) => column[vb]);
  return [...found, JSON.stringify(counts)];
}

const onlyMemory = ({ bucket }: BucketUnderTest) => {
  const { diskFetches, evictions, memUsed, nonResident } = bucket.stats();
  return { diskFetches, evictions, memUsed, nonResident };
};

/** Rolls the copy back to what the active had at `seqno`. */
async function rollBack(copy: BucketUnderTest, active: BucketUnderTest, seqno: number, rowsMax = 1_000) {
  const prepared = await preparedFor(copy, active, seqno, rowsMax);
  if (prepared === null) return null;
  const { above, versions } = prepared;
  assert.equal(await copy.bucket.rollbacks.rollBack(above, versions), true);
  return { above, newest: versions.newest };
}

/** What a rollback of the copy needs. */
async function preparedFor(copy: BucketUnderTest, active: BucketUnderTest, seqno: number, rowsMax = 1_000) {
  await copy.bucket.writeStates([vb]);
  const above = await copy.bucket.rollbacks.rowsAbove(vb, seqno, rowsMax);
  if (above === null) return null;
  const keys = above.rows.map(({ key }) => key);
  const batches: Uint8Array[] = [];
  let newest = 0;
  for (let answered = 0; answered < keys.length; ) {
    const request = { vb, upTo: seqno, keys: keys.slice(answered, answered + 7) };
    const found = await active.bucket.rollbacks.olderVersions(request);
    assert.ok(found.answered > 0);
    answered += found.answered;
    newest = Math.max(newest, found.newest);
    batches.push(found.batch);
  }
  return { above, versions: { failover: active.bucket.history(vb), batches, newest } };
}

/** An active and a copy with the same changes up to a seqno, and then with others. */
async function diverged(random: Random, options: Options, copyDisk: MemoryDisk) {
  const before = await aBucketIn('active');
  const active = await aBucketIn('replica', options);
  const copy = await aBucketIn('replica', { ...options, disk: copyDisk });
  change(before, random, 150);
  await pass(before, active);
  await pass(before, copy);
  const branch = before.bucket.columns.highSeqno[vb] as number;
  change(before, random, 1 + random(30));
  await pass(before, copy);
  await active.bucket.followShards(inState('active', 4));
  assert.equal(active.bucket.columns.highSeqno[vb], branch);
  return { active, branch, copy };
}

for (const [title, options] of [
  ['with all keys in memory', {}],
  ['with documents on disk only', { evictionPolicy: 'fullEviction', quotaBytes: 180_000 }],
] as const)
  test(`a copy is as its active after random changes and a rollback, ${title}, also after a restart`, async (t) => {
    const random = aSeed(t);
    let [rows, later] = [0, 0];
    // A few seeds have no keys that come later in twelve runs.
    for (let run = 0; run < 12 || (later === 0 && run < 200); run++) {
      const copyDisk = new MemoryDisk();
      const { active, branch, copy } = await diverged(random, options, copyDisk);
      const atBranch = await stateOf(active);
      if (random(2) === 0) change(active, random, random(40));
      else assert.deepEqual(await stateOf(active), atBranch);
      const hasChanged = active.bucket.columns.highSeqno[vb] !== branch;
      const cas = [copy.bucket.columns.casHi[vb], copy.bucket.columns.casLo[vb]];
      const done = await rollBack(copy, active, branch);
      assert.ok(done);
      rows += done.above.rows.length;
      if (done.newest > 0) later++;
      assert.equal(copy.bucket.columns.highSeqno[vb], branch);
      assert.deepEqual(
        [copy.bucket.columns.casHi[vb], copy.bucket.columns.casLo[vb]],
        cas,
        'the highest CAS of the copy decreased',
      );
      if (!hasChanged) assert.deepEqual(await stateOf(copy), atBranch);
      if (random(2) === 0) {
        // The process ends before anything follows.
        const again = await aBucketIn('replica', { ...options, disk: copyDisk });
        assert.equal(again.bucket.columns.snapEnd[vb], Math.max(branch, done.newest));
        await pass(active, again);
        assert.deepEqual(await stateOf(again), await stateOf(active));
        continue;
      }
      await pass(active, copy);
      assert.deepEqual(await stateOf(copy), await stateOf(active));
      const again = await aBucketIn('replica', { disk: copyDisk });
      assert.deepEqual(await stateOf(again), await stateOf(active));
      // Only active vbuckets are counted here, with their collections.
      await copy.bucket.followShards(inState('active', 5));
      assert.deepEqual(copy.bucket.stats(), { ...active.bucket.stats(), ...onlyMemory(copy) });
    }
    assert.ok(rows > 12 && later > 0, `${rows} rows, ${later} with keys that come later`);
  });

test('a copy is not rolled back if tombstones above the seqno were purged, or more rows are above it than a rollback may remove', async (t) => {
  const random = aSeed(t);
  const { active, branch, copy } = await diverged(random, {}, new MemoryDisk());
  assert.equal(await rollBack(copy, active, branch, 0), null);
  copy.bucket.columns.purgeSeqno[vb] = branch + 1;
  assert.equal(await rollBack(copy, active, branch), null);
});

test('a copy is not rolled back if it changed since its rows were read, or if its file refuses the versions of the active', async (t) => {
  const random = aSeed(t);
  const { active, branch, copy } = await diverged(random, {}, new MemoryDisk());
  await copy.bucket.writeStates([vb]);
  const above = await copy.bucket.rollbacks.rowsAbove(vb, branch, 1_000);
  assert.ok(above);
  const versions = { failover: active.bucket.history(vb), batches: [], newest: 0 };
  const { rollbacks } = copy.bucket;
  assert.equal(await rollbacks.rollBack({ ...above, highSeqno: above.highSeqno - 1 }, versions), false);
  const state = await stateOf(copy);
  const other = itemsOf((await copy.bucket.changes.backfillForCopy(vb, 0)).batch).find(
    ({ seqno }) => seqno <= branch,
  );
  assert.ok(other);
  const writer = new CutWriter();
  writer.begin(0);
  const key = above.rows[0]?.key ?? Buffer.alloc(0);
  writer.itemOf({ ...other }, key, Buffer.from('of another key'));
  writer.finish(stateOfVbucket(vb));
  const batches = [writer.drain()];
  assert.equal(await rollbacks.rollBack(above, { ...versions, batches }), false);
  assert.deepEqual(await stateOf(copy), state);
});

test('versions that do not fit into one answer are sent in several', async () => {
  const active = await aBucketIn('active');
  const keys = ['a', 'b', 'c', 'd'].map((key) => keyOf(key));
  for (const [i, key] of ['a', 'b', 'd'].entries())
    assert.equal(active.store(key, { value: `${i}`.repeat(700_000) }), Status.success);
  const upTo = active.bucket.columns.highSeqno[vb] as number;
  active.store('d', { value: 'newer' });
  const { rollbacks } = active.bucket;
  const first = await rollbacks.olderVersions({ vb, upTo, keys });
  assert.deepEqual([first.answered, itemsOf(first.batch).length, first.newest], [1, 1, 0]);
  const rest = await rollbacks.olderVersions({ vb, upTo, keys: keys.slice(1) });
  assert.deepEqual([rest.answered, itemsOf(rest.batch).length, rest.newest], [3, 1, upTo + 1]);
});

test('a rollback begins after the writes of states under way, which would otherwise write the state before the rollback', async (t) => {
  let syncTurns = 0;
  const copyDisk = new MemoryDisk({
    sync: async () => {
      for (let turn = 0; turn < syncTurns; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
  });
  const { active, branch, copy } = await diverged(aSeed(t), {}, copyDisk);
  const inSameFile = vb + files.fileCount;
  const shards = inState('replica', 3).map((shard, index) =>
    index === inSameFile ? { ...shard, state: 'active' as const } : shard,
  );
  await copy.bucket.followShards(shards);
  const prepared = await preparedFor(copy, active, branch);
  assert.ok(prepared);
  syncTurns = 20;
  const value = 'v'.repeat(100_000);
  for (let i = 0; i < 20; i++) copy.store(`large ${i}`, { vb: inSameFile, value });
  const written = copy.bucket.writeStates([inSameFile, vb]);
  assert.equal(await copy.bucket.rollbacks.rollBack(prepared.above, prepared.versions), true);
  await written;
  const { highSeqno, persistedSeqno } = copy.bucket.columns;
  assert.deepEqual([highSeqno[vb], persistedSeqno[vb]], [branch, branch]);
  await copy.bucket.stop();
  const again = await aBucketIn('replica', { disk: copyDisk });
  assert.equal(again.bucket.columns.highSeqno[vb], branch);
  await again.bucket.stop();
});
