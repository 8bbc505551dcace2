// The contract of compaction for every disk engine: loses nothing, removes old tombstones, frees space, and can be
// cancelled.
import assert from 'node:assert/strict';
import { CutBits } from '#kv/data/cut.ts';
import { type BucketFiles, type DiskEngine, everyTombstone } from '#kv/data/disk-engine.ts';
import { cutsOf, type Doc, docTexts, loaded } from '../support/cuts.ts';
import { randomFrom } from '../support/random.ts';
import { aBucket, type DiskUnderTest, flagsOf, titled } from './disk-engine.ts';

const keepTombstones = { purgeBeforeSeconds: 0 };

export function describeCompaction(name: string, make: () => Promise<DiskUnderTest>): void {
  const it = titled(name, make);

  it('keeps every row, and the file accepts commits afterwards', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await rewrite(engine, files, 3);
    const before = await loaded(engine, files);
    const { purged } = await engine.compact(files.bucketUuid, 0, keepTombstones);
    assert.deepEqual(purged, []);
    assert.deepEqual(await loaded(engine, files), before);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ vb: 4, key: 'new', value: 'v', seqno: 100_000 }]));
    await engine.close(files.bucketUuid);
    assert.deepEqual(flagsOf(await engine.open(files)), [true, true]);
    assert.equal((await loaded(engine, files)).length, before.length + 1);
    await engine.stop();
  });

  it('is not clean after a kill following a compaction', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    await rewrite(engine, files, 1);
    const before = await loaded(engine, files);
    await engine.compact(files.bucketUuid, 0, keepTombstones);
    await disk.kill(engine);
    engine = disk.engine();
    assert.deepEqual(flagsOf(await engine.open(files)), [false, false]);
    assert.deepEqual(await loaded(engine, files), before);
    await engine.stop();
  });

  it('shrinks a file that was rewritten three times to the size of a fresh one', async (disk) => {
    const files = aBucket(disk);
    const fresh = aBucket(disk, { folder: disk.folder('fresh'), bucketUuid: 'f'.repeat(32) });
    const engine = disk.engine();
    await engine.open(files);
    await engine.open(fresh);
    await rewrite(engine, files, 4);
    for (const doc of batches(await loaded(engine, files))) {
      await engine.commit(fresh.bucketUuid, 0, cutsOf(doc));
    }
    const result = await engine.compact(files.bucketUuid, 0, keepTombstones);
    const [own, other] = [await engine.sizes(files.bucketUuid), await engine.sizes(fresh.bucketUuid)];
    assert.ok(own.dataBytes + own.freeBytes <= 1.15 * (other.dataBytes + other.freeBytes));
    assert.ok(own.freeBytes <= 0.05 * own.dataBytes);
    assert.ok(result.bytesAfter <= result.bytesBefore);
    await engine.stop();
  });

  it('removes old tombstones and reports up to which seqno', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    const gone = (key: string, seqno: number, expiry: number): Doc => ({
      key,
      seqno,
      expiry,
      value: '',
      bits: CutBits.deleted,
    });
    await engine.commit(
      files.bucketUuid,
      0,
      cutsOf([gone('a', 1, 100), gone('b', 7, 199), gone('c', 8, 200), { key: 'd', value: 'x', seqno: 9 }], {
        items: 1,
        deleted: 3,
      }),
    );
    const { purged } = await engine.compact(files.bucketUuid, 0, { purgeBeforeSeconds: 200 });
    assert.deepEqual(purged, [{ vb: 0, upToSeqno: 9, purgeSeqno: 7, tombstones: 2 }]);
    assert.deepEqual(docTexts(await loaded(engine, files)), ['0 8 c=', '0 9 d=x']);
    // A cut from before the purge still has the purge seqno 3.
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'e', value: 'y', seqno: 10 }]));
    await disk.kill(engine);
    engine = disk.engine();
    const { opened } = await engine.open(files);
    assert.equal(opened[0]?.vbuckets[0]?.purgeSeqno, 7);
    const all = await engine.compact(files.bucketUuid, 0, { purgeBeforeSeconds: everyTombstone });
    assert.deepEqual(all.purged, [{ vb: 0, upToSeqno: 10, purgeSeqno: 8, tombstones: 1 }]);
    assert.deepEqual(docTexts(await loaded(engine, files)), ['0 9 d=x', '0 10 e=y']);
    await engine.stop();
  });

  it('keeps commits made while it runs', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    const ledger = new Map<string, string>();
    const random = randomFrom(7);
    let seqno = 0;
    const commitSome = async (): Promise<void> => {
      const keys = new Set(Array.from({ length: 60 }, () => random(3000)));
      const docs = [...keys].map((key) => randomDoc(key, ++seqno, random));
      await engine.commit(files.bucketUuid, 0, cutsOf(docs, { items: 1 }));
      for (const { vb, key, value } of docs) ledger.set(`${vb} ${key}`, String(value));
    };
    for (let i = 0; i < 100; i++) await commitSome();
    for (let round = 0; round < 3; round++) {
      let isDone = false;
      const done = engine.compact(files.bucketUuid, 0, keepTombstones).finally(() => {
        isDone = true;
      });
      // The compaction has a low priority: without a bound a busy machine would give its time to the commits.
      for (let commits = 0; !isDone && commits < 60; commits++) {
        await commitSome();
        // Yields to an engine in this thread.
        await new Promise(setImmediate);
      }
      await done;
      for (let i = 0; i < 10; i++) await commitSome();
    }
    await disk.kill(engine);
    engine = disk.engine();
    await engine.open(files);
    const found = new Map((await loaded(engine, files)).map(({ vb, key, value }) => [`${vb} ${key}`, value]));
    assert.deepEqual(found, ledger);
    await engine.stop();
  });

  it('reports its progress, and rejects with the reason of a signal that is aborted before it begins', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await rewrite(engine, files, 2);
    const before = await loaded(engine, files);
    const signal = AbortSignal.abort(new Error('enough'));
    await assert.rejects(engine.compact(files.bucketUuid, 0, { ...keepTombstones, signal }), /enough/);
    const seen: number[] = [];
    await engine.compact(files.bucketUuid, 0, {
      ...keepTombstones,
      progress: (done, total) => {
        assert.ok(done <= total);
        seen.push(done);
      },
    });
    assert.ok(seen.length > 0 && seen.at(-1) === before.length);
    assert.deepEqual(await loaded(engine, files), before);
    await engine.stop();
  });

  it('compacts two buckets and several files at once', async (disk) => {
    const one = aBucket(disk);
    const two = aBucket(disk, { folder: disk.folder('beer'), bucketUuid: 'c'.repeat(32) });
    const engine = disk.engine();
    for (const files of [one, two]) {
      await engine.open(files);
      await rewrite(engine, files, 2);
      await engine.commit(files.bucketUuid, 1, cutsOf([{ vb: 1, key: 'k', value: 'v', seqno: 1 }]));
    }
    const before = await loaded(engine, one);
    await Promise.all(
      [one, two].flatMap(({ bucketUuid }) =>
        [0, 1].map((file) => engine.compact(bucketUuid, file, keepTombstones)),
      ),
    );
    for (const files of [one, two]) {
      assert.deepEqual(await loaded(engine, files), before);
      assert.deepEqual(docTexts(await loaded(engine, files, 1)), ['1 1 k=v']);
    }
    await engine.close(one.bucketUuid);
    assert.deepEqual((await engine.open(one)).damaged, []);
    assert.deepEqual(await loaded(engine, one), before);
    await engine.stop();
  });

  it('a bucket can be closed, reset or removed during a compaction', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await rewrite(engine, files, 2);
    const before = await loaded(engine, files);
    const begun = () =>
      engine.compact(files.bucketUuid, 0, keepTombstones).catch((error: Error) => error.message);
    const [first] = await Promise.all([begun(), engine.close(files.bucketUuid)]);
    assert.ok(typeof first === 'object' || /closed|not open/.test(first), String(first));
    assert.deepEqual(flagsOf(await engine.open(files)), [true, true]);
    assert.deepEqual(await loaded(engine, files), before);
    await Promise.all([begun(), engine.reset(files.bucketUuid, 2)]);
    assert.deepEqual(await loaded(engine, files), []);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value: 'x', seqno: 1 }]));
    await Promise.all([begun(), engine.destroy(files)]);
    await engine.open({ ...files, incarnation: 2 });
    assert.deepEqual(await loaded(engine, files), []);
    await engine.stop();
  });
}

/** 2,000 documents over eight vbuckets, some large, written `times` over. */
async function rewrite(engine: DiskEngine, files: BucketFiles, times: number): Promise<void> {
  const random = randomFrom(42);
  let seqno = 0;
  for (let i = 0; i < times; i++) {
    const docs = Array.from({ length: 2000 }, (_, key) => randomDoc(key, ++seqno, random));
    for (const batch of batches(docs)) await engine.commit(files.bucketUuid, 0, cutsOf(batch));
  }
}

function randomDoc(key: number, seqno: number, random: (below: number) => number): Doc & { vb: number } {
  const bytes = random(20) === 0 ? 2001 + random(12_000) : random(900);
  return { vb: 2 * (key % 8), key: `key ${key}`, value: String(seqno).padEnd(bytes, '.'), seqno };
}

function batches<T>(docs: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(docs.length / 500) }, (_, i) => docs.slice(i * 500, i * 500 + 500));
}
