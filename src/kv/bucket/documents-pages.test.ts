// Backfills of documents only: from memory while all documents of the vbucket are there, else from disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { aSeed } from '../../../test/support/random.ts';
import { CutBits, CutReader } from '../data/cut.ts';
import { DurabilityLevel } from '../data/documents.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import type { VbucketColumns } from '../vbucket/columns.ts';
import type { BucketOptions } from './bucket-parts.ts';

const files = { folder: '/bucket', bucketUuid: 'b1', incarnation: 1, fileCount: 4 };
const smallQuota = {
  quotaBytes: 2 * 1024 * 1024,
  maxTtl: 0,
  durabilityMinLevel: DurabilityLevel.none,
  replicaNumber: 0,
};

const turn = async (b: BucketUnderTest): Promise<void> => {
  b.tick(25);
  await new Promise((resolve) => setImmediate(resolve));
};

async function aBucket(
  type: 'native' | 'ephemeral' = 'native',
  options: Pick<BucketOptions, 'evictionPolicy' | 'rules'> | object = {},
) {
  const engine = new MemoryDisk().engine();
  const disk = { reads: 0 };
  const backfill = engine.backfill.bind(engine);
  engine.backfill = (...request) => {
    disk.reads++;
    return backfill(...request);
  };
  const storage = { disk: engine, files };
  const b = await new BucketUnderTest({ ...(type === 'native' && { storage }), ...options }).start();
  const persisted = async (): Promise<void> => {
    while (b.bucket.stats().dirtyItems > 0) await turn(b);
  };
  return { b, disk, persisted, changes: b.bucket.changes };
}

const columnsOf = ({ bucket }: BucketUnderTest): VbucketColumns =>
  (bucket as unknown as { parts: { vbuckets: { columns: VbucketColumns } } }).parts.vbuckets.columns;

/** Applies a page to a copy by key. */
function apply(copy: Map<string, number>, batch: Uint8Array): void {
  const reader = new CutReader(batch);
  while (reader.nextCut())
    while (reader.nextItem()) {
      const { buffer, keyStart, keyEnd, seqno, bits } = reader.item;
      const key = buffer.toString('latin1', keyStart + 1, keyEnd);
      if ((bits & CutBits.deleted) !== 0) copy.delete(key);
      else copy.set(key, seqno);
    }
}

test('documents in memory are not read from disk; later changes are', async () => {
  const { b, disk, persisted, changes } = await aBucket();
  for (const key of ['a', 'b', 'c']) b.store(key);
  b.remove('b');
  await persisted();
  const copy = new Map<string, number>();
  const first = await changes.documents(0, 0, undefined);
  apply(copy, first.batch);
  assert.deepEqual([first.toSeqno, first.endSeqno, disk.reads], [4, 4, 0]);
  assert.deepEqual(
    [...copy],
    [
      ['a', 1],
      ['c', 3],
    ],
  );
  b.remove('a');
  await persisted();
  apply(copy, (await changes.documents(0, 4, first.listedSeqno)).batch);
  assert.equal(disk.reads, 1);
  assert.deepEqual([...copy.keys()], ['c']);
});

test('a vbucket with a durable write that waits is read from disk, up to the change before that write', async () => {
  const { b, disk, persisted, changes } = await aBucket();
  b.store('a');
  await persisted();
  assert.equal(b.store('b', { durability: DurabilityLevel.persistToMajority }), Status.success);
  assert.equal(changes.visibleSeqno(0), 1);
  b.store('c');
  const { toSeqno } = await changes.documents(0, 0, undefined);
  assert.deepEqual([toSeqno, disk.reads], [1, 1]);
});

for (const type of ['native', 'ephemeral'] as const)
  test(`${type}: a list of documents that a backfill made before a flush is not used after it`, async () => {
    const { b, persisted, changes } = await aBucket(type);
    const keys = Array.from({ length: 100 }, (_, at) => `k${at}`);
    for (const key of keys) b.store(key);
    await persisted();
    await changes.documents(0, 0, undefined, 1_024);
    void b.bucket.flush(2);
    for (let turns = 0; changes.highSeqno(0) > 0 || b.store('k99') !== Status.success; turns++) {
      assert.ok(turns < 1_000);
      await turn(b);
    }
    for (const key of keys.toReversed().slice(1)) b.store(key);
    await persisted();
    const copy = new Map<string, number>();
    apply(copy, (await changes.documents(0, 0, undefined)).batch);
    assert.equal(copy.size, keys.length);
  });

test('documents that are evicted while a backfill lists the documents are read from disk', async () => {
  for (const column of ['wholeEvictions', 'nonResidentItems', 'nonResidentValues'] as const) {
    const { b, disk, persisted, changes } = await aBucket();
    b.store('a');
    await persisted();
    const reading = changes.documents(0, 0, undefined);
    await null; // the list is made
    await null;
    columnsOf(b)[column][0] = 1;
    const { toSeqno } = await reading;
    assert.deepEqual([toSeqno, disk.reads], [1, 1], column);
  }
});

for (const evictionPolicy of ['valueOnly', 'fullEviction'] as const)
  test(`${evictionPolicy}: a reader has every document in the end, whatever changes and is evicted meanwhile`, async (t) => {
    const random = aSeed(t);
    const fromMemory = { pages: 0 };
    for (let round = 0; round < 3; round++) {
      const options = { evictionPolicy, rules: smallQuota };
      const { b, disk, persisted, changes } = await aBucket('native', options);
      const newest = new Map<string, number>();
      const change = async (key: string): Promise<void> => {
        const isRemoval = random(3) === 0 && newest.has(key);
        const value = 'v'.repeat(1 + random(1_200));
        const act = () => (isRemoval ? b.remove(key) : b.store(key, { value }));
        for (let tries = 0; tries < 200; tries++) {
          const status = await b.whenResident(act);
          if (status === Status.success) break;
          await turn(b);
        }
        if (isRemoval) newest.delete(key);
        else newest.set(key, changes.highSeqno(0));
      };
      const keys = 100 + random(1_500);
      for (let at = 0; at < keys; at++) await change(`k${at}`);
      await persisted();
      const copy = new Map<string, number>();
      let position = 0;
      let listedSeqno: number | undefined;
      for (let pages = 0; ; pages++) {
        const readsBefore = disk.reads;
        const page = await changes.documents(0, position, listedSeqno, 16 * 1024);
        if (disk.reads === readsBefore) fromMemory.pages++;
        listedSeqno = page.listedSeqno;
        apply(copy, page.batch);
        position = Math.max(position, page.toSeqno);
        if (pages < 20) for (let left = random(60); left > 0; left--) await change(`k${random(keys + 200)}`);
        else if (position === changes.highSeqno(0)) break;
        await persisted();
      }
      assert.deepEqual(copy, newest);
    }
    assert.ok(fromMemory.pages > 4, `${fromMemory.pages} pages from memory`);
  });
