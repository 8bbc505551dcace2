// The contract of every disk engine. Run with SQLite in the same thread, SQLite in a worker, and memory.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { CutBits, CutReader, CutWriter } from '#kv/data/cut.ts';
import type { BucketFiles, DiskEngine, LargeItems, OpenResult } from '#kv/data/disk-engine.ts';
import { aState, cutsOf, docsOf, docTexts, loaded, someFailover } from '../support/cuts.ts';

/** A disk that outlives its engines. */
export interface DiskUnderTest {
  engine(): DiskEngine;
  /** The folder of a bucket. */
  folder(name: string): string;
  /** Ends the engine like a kill of its process. */
  kill(engine: DiskEngine): Promise<void>;
  /** Makes the file unreadable at the next open or load. */
  damage(files: BucketFiles, file: number): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export const aBucket = (disk: DiskUnderTest, changes: Partial<BucketFiles> = {}): BucketFiles => ({
  folder: disk.folder('travel'),
  bucketUuid: 'a'.repeat(32),
  incarnation: 1,
  fileCount: 2,
  ...changes,
});

export const flagsOf = ({ opened }: OpenResult): boolean[] => opened.map(({ clean }) => clean);

/** Defines tests that get a disk of their own. */
export const titled =
  (name: string, make: () => Promise<DiskUnderTest>) =>
  (title: string, act: (disk: DiskUnderTest) => Promise<void>): void =>
    void test(`${name}: ${title}`, async () => {
      await using disk = await make();
      await act(disk);
    });

export function describeDiskEngine(name: string, make: () => Promise<DiskUnderTest>): void {
  const it = titled(name, make);

  it('opens a new bucket empty and clean', async (disk) => {
    const engine = disk.engine();
    const result = await engine.open(aBucket(disk));
    assert.deepEqual(result, {
      opened: [0, 1].map((file) => ({ file, clean: true, closedBy: null, vbuckets: [] })),
      damaged: [],
    });
    assert.deepEqual(await loaded(engine, aBucket(disk)), []);
    await engine.stop();
  });

  it('loads committed documents by vbucket and key after a kill', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    await engine.commit(
      files.bucketUuid,
      0,
      cutsOf([
        { vb: 1022, key: 'c', value: '3', seqno: 2 ** 42, expiry: 0xffffffff },
        { vb: 0, key: 'b', value: '', seqno: 2 },
        { vb: 0, key: 'a', value: '1', seqno: 5, rev: 1 },
      ]),
    );
    await engine.commit(files.bucketUuid, 1, cutsOf([{ vb: 1, key: 'd', value: '4', seqno: 1 }]));
    await disk.kill(engine);
    engine = disk.engine();
    await engine.open(files);
    assert.deepEqual(await loaded(engine, files, 0), [
      { vb: 0, key: 'a', value: '1', seqno: 5, expiry: 0, bits: 0, rev: 1 },
      { vb: 0, key: 'b', value: '', seqno: 2, expiry: 0, bits: 0, rev: 2 ** 47 + 5 },
      { vb: 1022, key: 'c', value: '3', seqno: 2 ** 42, expiry: 0xffffffff, bits: 0, rev: 2 ** 47 + 5 },
    ]);
    assert.deepEqual(docTexts(await loaded(engine, files, 1)), ['1 1 d=4']);
    await engine.stop();
  });

  it('keeps the newest version of a key only', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value: 'old', seqno: 1 }]));
    await engine.commit(
      files.bucketUuid,
      0,
      cutsOf([
        { key: 'b', value: 'x', seqno: 2 },
        { key: 'a', value: 'new', seqno: 3 },
      ]),
    );
    assert.deepEqual(docTexts(await loaded(engine, files)), ['0 3 a=new', '0 2 b=x']);
    await engine.stop();
  });

  it('keeps tombstones with their value, kind and time', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const bits = CutBits.deleted | CutBits.expired;
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value: 'live', seqno: 1, expiry: 9 }]));
    await engine.commit(
      files.bucketUuid,
      0,
      cutsOf([
        { key: 'a', value: '_sys', seqno: 2, bits, expiry: 77 },
        { key: 'b', seqno: 3, bits: CutBits.deleted, expiry: 0 },
      ]),
    );
    const [a, b] = await loaded(engine, files);
    assert.deepEqual([a?.value, a?.bits, a?.expiry], ['_sys', bits, 77]);
    assert.deepEqual([b?.value, b?.bits, b?.expiry], ['', CutBits.deleted, 0]);
    await engine.stop();
  });

  it('keeps values of every size, and lets them change between small and large', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    const sizes = [0, 1, 1999, 2000, 2001, 8192, 300_000, 20 * 2 ** 20];
    const values = sizes.map((size) => randomBytes(size));
    const expected = new Map<string, Buffer>();
    let seqno = 0;
    for (const [round, shift] of [0, 3, 5].entries()) {
      const docs = sizes.map((_, i) => {
        const value = values[(i + shift) % sizes.length] as Buffer;
        expected.set(`k${i}`, value);
        return { key: `k${i}`, value, seqno: ++seqno };
      });
      if (round === 2) await disk.kill(engine).then(() => (engine = disk.engine()).open(files));
      for (const doc of docs) await engine.commit(files.bucketUuid, 0, cutsOf([doc]));
    }
    const docs = await loaded(engine, files);
    assert.equal(docs.length, sizes.length);
    for (const { key, value } of docs) {
      assert.ok(Buffer.from(value as string, 'latin1').equals(expected.get(key) as Buffer), key);
    }
    await engine.stop();
  });

  it('keeps the state of each vbucket from its last cut', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ vb: 4, key: 'a', seqno: 1 }], { items: 9 }));
    await engine.commit(
      files.bucketUuid,
      0,
      cutsOf([{ vb: 4, key: 'a', seqno: 7 }], { items: 12, deleted: 5 }),
    );
    await disk.kill(engine);
    engine = disk.engine();
    const { opened } = await engine.open(files);
    const record = opened[0]?.vbuckets[0];
    assert.ok(record);
    assert.deepEqual(
      {
        ...record,
        maxCas: Buffer.from(record.maxCas).toString('hex'),
        failover: Uint8Array.from(record.failover),
      },
      {
        vb: 4,
        highSeqno: 7,
        maxCas: 'fedcba98ffffffff',
        purgeSeqno: 3,
        maxDeletedRev: 2 ** 47 + 1,
        failover: someFailover,
        manifestUid: 0xffffffff,
        items: 12,
        deleted: 5,
        snapStart: 1,
        snapEnd: 9,
        epoch: 2 ** 40 + 3,
        copy: 1,
      },
    );
    await engine.stop();
  });

  it('keeps the state of a vbucket without rows', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    const writer = new CutWriter();
    writer.begin(0);
    writer.finish(aState({ vb: 6, endSeqno: 0, items: 0, failover: new Uint8Array(0) }));
    await engine.commit(files.bucketUuid, 0, writer.drain());
    await engine.close(files.bucketUuid);
    engine = disk.engine();
    const { opened } = await engine.open(files);
    assert.deepEqual(
      opened[0]?.vbuckets.map(({ vb, failover }) => [vb, failover.length]),
      [[6, 0]],
    );
    assert.deepEqual(await loaded(engine, files), []);
    await engine.stop();
  });

  it('distinguishes a clean stop from a kill', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', seqno: 1 }]));
    await engine.close(files.bucketUuid);
    assert.deepEqual(flagsOf(await engine.open(files)), [true, true]);
    await disk.kill(engine);
    engine = disk.engine();
    assert.deepEqual(flagsOf(await engine.open(files)), [false, false]);
    await engine.close(files.bucketUuid);
    assert.deepEqual(flagsOf(await engine.open(files)), [true, true]);
    await engine.stop();
  });

  it('loads a large file in several batches and waits for each to be consumed', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const value = 'v'.repeat(1000);
    const nameOf = (vb: number, seqno: number): string => `${vb} k${seqno - 1}`;
    const docs = Array.from({ length: 5000 }, (_, i) => ({
      vb: (i % 3) * 2,
      key: `k${i}`,
      value,
      seqno: i + 1,
    }));
    await engine.commit(files.bucketUuid, 0, cutsOf(docs));
    let consuming = 0;
    let batches = 0;
    const seen: string[] = [];
    await engine.load(files.bucketUuid, 0, async (batch) => {
      assert.equal(++consuming, 1);
      assert.ok(batch.length < 1.5 * 2 ** 20, `a batch has ${batch.length} bytes`);
      batches++;
      const reader = new CutReader(batch);
      while (reader.nextCut()) {
        while (reader.nextItem()) seen.push(nameOf(reader.state.vb, reader.item.seqno));
      }
      await new Promise((resolve) => setImmediate(resolve));
      consuming--;
    });
    assert.ok(batches >= 4, `${batches} batches`);
    const expected = docs.map(({ vb, seqno }) => nameOf(vb, seqno)).sort();
    assert.deepEqual(seen, expected);
    await engine.stop();
  });

  it('loads only requested values, and large ones later', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const large = 'v'.repeat(100_000);
    const docs = Array.from({ length: 12 }, (_, i) => ({
      key: `k${i + 10}`,
      value: i % 3 === 0 ? large : i === 1 ? '' : 'small',
      seqno: i + 1,
      vb: (i % 2) * 2,
    }));
    await engine.commit(files.bucketUuid, 0, cutsOf(docs));
    for (const values of ['small', 'none'] as const) {
      const seen = await loaded(engine, files, 0, values);
      for (const { key, value, bits } of seen) {
        const { value: stored = '' } = docs.find((doc) => doc.key === key) ?? {};
        const isLeft = stored.length > 0 && (values === 'none' || stored === large);
        assert.deepEqual([bits, value], isLeft ? [CutBits.valueOmitted, ''] : [0, stored], key);
      }
      assert.equal(seen.length, docs.length);
    }
    const found: string[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const page: LargeItems = await engine.largeItems(files.bucketUuid, 0, after);
      found.push(...docTexts(docsOf(page.batch)));
      after = page.next;
    }
    assert.deepEqual(found.sort(), docTexts(docs.filter(({ value }) => value === large)).sort());
    await engine.stop();
  });

  it('includes the state of the vbucket in each cut of a load', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([3, 8].map((seqno) => ({ key: `k${seqno}`, seqno }))));
    let batches = 0;
    await engine.load(files.bucketUuid, 0, (batch) => {
      batches++;
      const reader = new CutReader(batch);
      assert.ok(reader.nextCut());
      const { endSeqno, maxCasHi, items } = reader.state;
      assert.deepEqual({ endSeqno, maxCasHi, items }, { endSeqno: 8, maxCasHi: 0xfedcba98, items: 2 });
    });
    assert.equal(batches, 1);
    await engine.stop();
  });

  it('commits a part of a larger buffer and does not transfer the buffer', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const cuts = cutsOf([{ key: 'a', value: 'abc', seqno: 1 }]);
    const larger = Buffer.concat([Buffer.alloc(7), cuts, Buffer.alloc(9)]);
    await engine.commit(files.bucketUuid, 0, larger.subarray(7, 7 + cuts.length));
    assert.ok(larger.length > cuts.length);
    const shared = new Uint8Array(new SharedArrayBuffer(100 + cuts.length));
    const second = cutsOf([{ key: 'b', value: 'abc', seqno: 2 }]);
    shared.set(second, 50);
    await engine.commit(files.bucketUuid, 0, shared.subarray(50, 50 + second.length));
    assert.deepEqual(docTexts(await loaded(engine, files)), ['0 1 a=abc', '0 2 b=abc']);
    await engine.stop();
  });

  it('empties the bucket on reset and accepts only the new incarnation', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', seqno: 1 }]));
    await engine.reset(files.bucketUuid, 2);
    assert.deepEqual(await loaded(engine, files), []);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'b', value: 'x', seqno: 1 }]));
    await disk.kill(engine);
    engine = disk.engine();
    const old = await engine.open(files);
    assert.deepEqual([old.opened.length, ...old.damaged.map(({ isLater }) => isLater)], [0, true, true]);
    assert.match(old.damaged[0]?.reason ?? '', /incarnation 2/);
    await disk.kill(engine);
    engine = disk.engine();
    const now = await engine.open({ ...files, incarnation: 2 });
    assert.deepEqual(now.damaged, []);
    assert.deepEqual(docTexts(await loaded(engine, files)), ['0 1 b=x']);
    await engine.stop();
  });

  it('drops files of an older incarnation at open', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', seqno: 1 }]));
    await disk.kill(engine);
    engine = disk.engine();
    const { opened } = await engine.open({ ...files, incarnation: 5 });
    assert.deepEqual(
      opened.map(({ vbuckets }) => vbuckets),
      [[], []],
    );
    assert.deepEqual(await loaded(engine, files), []);
    await engine.stop();
  });

  it('keeps two buckets apart', async (disk) => {
    const one = aBucket(disk);
    const two = aBucket(disk, { folder: disk.folder('beer'), bucketUuid: 'c'.repeat(32), fileCount: 1 });
    const engine = disk.engine();
    await engine.open(one);
    await engine.open(two);
    await Promise.all([
      engine.commit(one.bucketUuid, 0, cutsOf([{ key: 'a', value: 'one', seqno: 1 }])),
      engine.commit(two.bucketUuid, 0, cutsOf([{ key: 'a', value: 'two', seqno: 1 }])),
    ]);
    await engine.destroy(one);
    assert.deepEqual(docTexts(await loaded(engine, two)), ['0 1 a=two']);
    await assert.rejects(engine.commit(one.bucketUuid, 0, cutsOf([{ key: 'a', seqno: 2 }])), /not open/);
    const again = await engine.open(one);
    assert.deepEqual(again.opened[0], { file: 0, clean: true, closedBy: null, vbuckets: [] });
    await engine.stop();
  });

  it('destroys a bucket that is not open, or does not exist', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.destroy(files);
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', seqno: 1 }]));
    await engine.close(files.bucketUuid);
    await engine.destroy(files);
    await engine.open(files);
    assert.deepEqual(await loaded(engine, files), []);
    await engine.stop();
  });

  it('measures the size of the data', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const empty = await engine.sizes(files.bucketUuid);
    const docs = Array.from({ length: 500 }, (_, i) => ({
      key: `k${i}`,
      value: 'v'.repeat(1000),
      seqno: i + 1,
    }));
    await engine.commit(files.bucketUuid, 0, cutsOf(docs));
    const full = await engine.sizes(files.bucketUuid);
    assert.ok(full.dataBytes - empty.dataBytes >= 500_000);
    assert.ok(full.fileBytes - empty.fileBytes >= 500_000);
    await engine.stop();
  });

  it('refuses to open a bucket twice, and to commit once it is stopped', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await assert.rejects(engine.open(files), /open already/);
    await engine.stop();
    await assert.rejects(engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', seqno: 1 }])), Error);
  });

  it('commits in the order of the calls, and finishes them before it closes', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const commits = Array.from({ length: 20 }, (_, i) =>
      engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value: `${i}`, seqno: i + 1 }])),
    );
    await engine.close(files.bucketUuid);
    await Promise.all(commits);
    assert.deepEqual(flagsOf(await engine.open(files)), [true, true]);
    assert.deepEqual(docTexts(await loaded(engine, files)), ['0 20 a=19']);
    await engine.stop();
  });
}
