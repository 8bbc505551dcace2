// Pages of changes for copies on other nodes: from memory while it has every version that the copy needs, deletions included, else from disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest, keyOf } from '../../../test/support/a-bucket.ts';
import { manifestOf } from '../../../test/support/manifest-of.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aSeed } from '../../../test/support/random.ts';
import { CutReader, isDeleted } from '../data/cut.ts';
import { DurabilityLevel } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import type { VbucketColumns } from '../vbucket/columns.ts';
import { emptyPosition } from '../vbucket/item-position.ts';
import type { BucketOptions, BucketParts } from './bucket-parts.ts';
import { SlicedWork } from './keys/sliced-work.ts';
import { MemoryBackfill } from './memory-backfill.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
async function turn(b: BucketUnderTest): Promise<void> {
  b.tick(25);
  await new Promise((resolve) => setImmediate(resolve));
}

async function aBucket(disk: MemoryDisk, options: Partial<BucketOptions> & { clock?: ManualClock } = {}) {
  const engine = disk.engine();
  const read = engine.backfill.bind(engine);
  const reads = { count: 0 };
  engine.backfill = (...request) => {
    reads.count++;
    return read(...request);
  };
  const b = await new BucketUnderTest({ storage: { disk: engine, files }, ...options }).start();
  const { changes } = b.bucket;
  const persisted = async (): Promise<void> => {
    while (b.bucket.stats().dirtyItems > 0) await turn(b);
  };
  /** All versions on the disk. */
  const onDisk = async (): Promise<Map<string, string>> => {
    const rows = new Map<string, string>();
    for (let position = 0; position < changes.storedSeqno(0); ) {
      const page = await read(files.bucketUuid, 0, 0, position);
      add(rows, page.batch);
      position = page.toSeqno;
    }
    return rows;
  };
  return { b, changes, reads, persisted, onDisk };
}

/** Adds the versions of a page to those of a copy, by key: the seqno of each, and whether it is a deletion. */
function add(rows: Map<string, string>, batch: Uint8Array): void {
  const reader = new CutReader(batch);
  while (reader.nextCut())
    while (reader.nextItem()) {
      const { buffer, keyStart, keyEnd, seqno } = reader.item;
      const version = isDeleted(reader.item) ? `${seqno} deleted` : `${seqno}`;
      rows.set(buffer.toString('latin1', keyStart, keyEnd), version);
    }
}

const partsOf = ({ bucket }: BucketUnderTest): BucketParts =>
  (bucket as unknown as { parts: BucketParts }).parts;
const columnsOf = (b: BucketUnderTest): VbucketColumns => partsOf(b).vbuckets.columns;

test('documents and deletions in memory are not read from disk', async () => {
  const { b, changes, onDisk, persisted, reads } = await aBucket(new MemoryDisk());
  for (const key of ['a', 'b', 'c']) b.store(key);
  b.remove('b');
  await persisted();
  const copy = new Map<string, string>();
  const { batch, endSeqno, toSeqno } = await changes.backfillForCopy(0, 0);
  add(copy, batch);
  assert.deepEqual([toSeqno, endSeqno, reads.count], [4, 4, 0]);
  assert.deepEqual(copy, await onDisk());
  assert.ok([...copy.values()].includes('4 deleted'));
});

test('what a restarted node leaves on disk is read there, the later changes from memory', async () => {
  const disk = new MemoryDisk();
  const clock = new ManualClock();
  const first = await aBucket(disk, { clock, manifest: manifestOf([0, 8], 1) });
  for (const key of ['8:a', '8:b', 'c', 'd']) first.b.store(key);
  await first.persisted();
  first.b.bucket.applyManifest(manifestOf([0], 2));
  const removesFromMemory = (): boolean => columnsOf(first.b).uncountedSeqno[0] !== 0;
  const hasDeletions = async (): Promise<boolean> =>
    [...(await first.onDisk()).values()].filter((row) => row.endsWith('deleted')).length >= 2;
  for (let turns = 0; !(await hasDeletions()); turns++) {
    assert.ok(turns < 2_000, 'the documents of the dropped collection are deleted');
    await turn(first.b);
  }
  for (let turns = 0; !removesFromMemory(); turns++) {
    assert.ok(turns < 2_000, 'their deletions leave memory');
    await turn(first.b);
  }
  const swept = new Map<string, string>();
  add(swept, (await first.changes.backfillForCopy(0, 0)).batch);
  assert.deepEqual(swept, await first.onDisk());
  first.b.remove('c');
  await first.persisted();
  await first.b.bucket.stop();

  const { b, changes, onDisk, persisted, reads } = await aBucket(disk, {
    clock,
    manifest: manifestOf([0], 2),
  });
  b.store('e');
  await persisted();
  const copy = new Map<string, string>();
  const before = await changes.backfillForCopy(0, 0);
  add(copy, before.batch);
  assert.equal(reads.count, 1);
  assert.deepEqual(copy, await onDisk());
  const uncounted = columnsOf(b).uncountedSeqno[0] as number;
  assert.ok(uncounted > 0 && uncounted < changes.highSeqno(0), `${uncounted}`);
  const page = await changes.backfillForCopy(0, uncounted);
  assert.equal(reads.count, 1);
  assert.equal(page.toSeqno, changes.highSeqno(0));
});

test('a deletion that was evicted is read from disk', async () => {
  const { b, changes, onDisk, persisted, reads } = await aBucket(new MemoryDisk(), {
    evictionPolicy: 'fullEviction',
  });
  b.store('a');
  b.store('b');
  b.remove('a');
  await persisted();
  const { residency, vbuckets } = partsOf(b);
  const [key, position] = [keyOf('a'), emptyPosition()];
  residency.dropItem(vbuckets.locate(position, 0, vbuckets.hash(key, 0, key.length), key, 0, key.length));
  const copy = new Map<string, string>();
  add(copy, (await changes.backfillForCopy(0, 0)).batch);
  assert.deepEqual([copy, reads.count], [await onDisk(), 1]);
});

test('what is evicted while memory lists the versions is read from disk', async () => {
  for (const column of [
    'wholeEvictions',
    'nonResidentItems',
    'nonResidentValues',
    'uncountedSeqno',
  ] as const) {
    const { b, changes, persisted, reads } = await aBucket(new MemoryDisk());
    b.store('a');
    await persisted();
    const reading = changes.backfillForCopy(0, 0);
    // In the second turn after the request the list is made, and the page is not.
    for (let turns = 0; turns < 2; turns++) await new Promise((resolve) => setImmediate(resolve));
    columnsOf(b)[column][0] = 1;
    const { toSeqno } = await reading;
    assert.deepEqual([toSeqno, reads.count], [1, 1], column);
  }
});

test('few changes of a vbucket with many documents are read from disk: a list would visit every document', async () => {
  const { b, changes, persisted, reads } = await aBucket(new MemoryDisk());
  for (let i = 0; i < 100; i++) b.store(`k${i}`);
  await persisted();
  const few = await changes.backfillForCopy(0, 95);
  assert.deepEqual([few.toSeqno, reads.count], [100, 1]);
  const many = await changes.backfillForCopy(0, 50);
  assert.deepEqual([many.toSeqno, reads.count], [100, 1]);
});

test('a list for a copy does not take the place of those that other copies still read', async () => {
  const b = await new BucketUnderTest().start();
  const documents = 400;
  const value = 'v'.repeat(2_000);
  for (const vb of [0, 1]) for (let i = 0; i < documents; i++) b.store(`k${i}`, { vb, value });
  const work = new SlicedWork({ soon: (callback) => setImmediate(callback) });
  const high = (vb: number): number => b.bucket.changes.highSeqno(vb);
  const lists = new MemoryBackfill(partsOf(b).vbuckets, work, high, true, documents + 50);
  const first = await lists.wholePage(0, 0);
  assert.ok(first !== null && first.toSeqno < documents);
  assert.equal(await lists.wholePage(1, 0), null);
  assert.equal((await lists.wholePage(0, first.toSeqno))?.toSeqno, documents);
  const second = await lists.wholePage(1, 0);
  assert.ok(
    second !== null && second.toSeqno < documents,
    'the list of the copy that is complete has no place',
  );
  // The copy of vbucket 1 is closed.
  let pages = 1;
  while (pages < 10_000 && (await lists.wholePage(0, 0)) === null) pages++;
  assert.ok(pages > 1_000 && pages < 10_000, `${pages} pages`);
});

const rules = {
  quotaBytes: 2 * 1024 * 1024,
  maxTtl: 0,
  durabilityMinLevel: DurabilityLevel.none,
  replicaNumber: 0,
};

for (const evictionPolicy of ['valueOnly', 'fullEviction'] as const)
  test(`${evictionPolicy}: a copy has every version in the end, whatever changes and is evicted meanwhile`, async (t) => {
    const random = aSeed(t);
    const fromMemory = { pages: 0 };
    // Which pages come from memory is left to chance: rounds are added until enough did.
    for (let round = 0; round < 3 || (fromMemory.pages <= 4 && round < 30); round++) {
      const options = { evictionPolicy, rules };
      const { b, changes, onDisk, persisted, reads } = await aBucket(new MemoryDisk(), options);
      const change = async (key: string): Promise<void> => {
        const value = 'v'.repeat(1 + random(1_200));
        const act = () => (random(3) === 0 ? b.remove(key) : b.store(key, { value }));
        for (let tries = 0; tries < 200; tries++) {
          const status = await b.whenResident(act);
          if (status === Status.success || status === Status.keyNotFound) return;
          await turn(b);
        }
      };
      const keys = 100 + random(1_500);
      for (let at = 0; at < keys; at++) await change(`k${at}`);
      await persisted();
      const copy = new Map<string, string>();
      let position = 0;
      for (let pages = 0; ; pages++) {
        const readsBefore = reads.count;
        const page = await changes.backfillForCopy(0, position);
        if (reads.count === readsBefore) fromMemory.pages++;
        add(copy, page.batch);
        position = Math.max(position, page.toSeqno);
        if (pages < 20) for (let left = random(60); left > 0; left--) await change(`k${random(keys + 200)}`);
        else if (position === changes.highSeqno(0)) break;
        if (random(2) === 0) await persisted();
      }
      await persisted();
      assert.deepEqual(new Map([...copy].sort()), new Map([...(await onDisk())].sort()));
    }
    assert.ok(fromMemory.pages > 4, `${fromMemory.pages} pages from memory`);
  });
