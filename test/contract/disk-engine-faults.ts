// The contract of every disk engine for faults: failed commits, damaged files, failing consumers, files of another bucket, unclean ends.
import assert from 'node:assert/strict';
import { DamagedFileError } from '#kv/data/disk-engine.ts';
import { cutsOf, type Doc, docsOf, docTexts, loaded } from '../support/cuts.ts';
import { aBucket, type DiskUnderTest, flagsOf, titled } from './disk-engine.ts';

export function describeDiskEngineFaults(name: string, make: () => Promise<DiskUnderTest>): void {
  const it = titled(name, make);

  it('discards a failed commit, and refuses further ones of the file until it is reopened', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const commit = (file: number, ...docs: Doc[]): Promise<number> =>
      engine.commit(files.bucketUuid, file, cutsOf(docs));
    await commit(0, { key: 'a', value: '1', seqno: 1 });
    // Two keys cannot have one seqno.
    await assert.rejects(commit(0, { key: 'b', seqno: 2 }, { key: 'c', seqno: 1 }));
    await assert.rejects(commit(0, { key: 'd', seqno: 3 }), /takes no more commits/);
    await commit(1, { vb: 1, key: 'e', seqno: 1 });
    await engine.close(files.bucketUuid);
    assert.deepEqual(flagsOf(await engine.open(files)), [false, true]);
    assert.deepEqual(docTexts(await loaded(engine, files, 0)), ['0 1 a=1']);
    await commit(0, { key: 'd', value: '', seqno: 3 });
    assert.deepEqual(docTexts(await loaded(engine, files, 0)), ['0 1 a=1', '0 3 d=']);
    await engine.stop();
  });

  it('reads a file that takes no more commits', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const { bucketUuid } = files;
    const key = { vb: 0, key: Buffer.from('\x08a') };
    await engine.commit(bucketUuid, 0, cutsOf([{ key: '\x08a', value: '1', seqno: 1, expiry: 40 }]));
    // What is only in a log of cuts when the file fails can be read after the next start only.
    await engine.fetchItems(bucketUuid, 0, [key]);
    const twice = cutsOf(['b', 'c'].map((name) => ({ key: name, seqno: 2 })));
    await assert.rejects(engine.commit(bucketUuid, 0, twice), /two keys|UNIQUE/);
    const seqnos = (batch: Uint8Array): number[] => docsOf(batch).map(({ seqno }) => seqno);
    assert.deepEqual(seqnos((await engine.fetchItems(bucketUuid, 0, [key])).batch), [1]);
    assert.deepEqual(seqnos((await engine.backfill(bucketUuid, 0, 0, 0)).batch), [1]);
    assert.deepEqual(seqnos((await engine.largeItems(bucketUuid, 0, 0)).batch), []);
    const expired = { atSeconds: 50, after: null, limit: 10 };
    assert.equal((await engine.expiredKeys(bucketUuid, 0, expired)).length, 1);
    const ofCollection = { prefix: Uint8Array.of(8), after: null, limit: 2 };
    assert.deepEqual(await engine.collectionKeys(bucketUuid, 0, ofCollection), [key]);
    await engine.stop();
  });

  it('names the process that closed a file at the next open, and only if it stopped cleanly', async (disk) => {
    const files = aBucket(disk);
    const closedBy = async (end: 'clean' | 'unclean' | 'kill'): Promise<(string | null)[]> => {
      const engine = disk.engine();
      const { opened } = await engine.open(files);
      if (end === 'kill') await disk.kill(engine);
      else await engine.close(files.bucketUuid, end === 'clean', 'boot');
      if (end !== 'kill') await engine.stop();
      return opened.map((file) => file.closedBy);
    };
    assert.deepEqual(await closedBy('clean'), [null, null]);
    assert.deepEqual(await closedBy('unclean'), ['boot', 'boot']);
    assert.deepEqual(await closedBy('clean'), [null, null]);
    assert.deepEqual(await closedBy('kill'), ['boot', 'boot']);
    assert.deepEqual(await closedBy('clean'), [null, null]);
  });

  it('refuses a buffer that does not consist of complete cuts', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const whole = cutsOf([{ key: 'a', value: 'abc', seqno: 1 }]);
    await assert.rejects(engine.commit(files.bucketUuid, 0, whole.slice(0, -1)));
    await engine.close(files.bucketUuid);
    await engine.open(files);
    assert.deepEqual(await loaded(engine, files), []);
    await engine.stop();
  });

  it('survives a reset in the middle of a load', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf(manyDocs));
    let batches = 0;
    const loading = engine.load(files.bucketUuid, 0, async () => {
      if (++batches > 1) return;
      await engine.reset(files.bucketUuid, 2);
      await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value: 'x', seqno: 1 }]));
    });
    await loading.catch(() => {});
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'b', value: 'y', seqno: 2 }]));
    assert.deepEqual(docTexts(await loaded(engine, files)), ['0 1 a=x', '0 2 b=y']);
    await engine.stop();
  });

  it('reports a damaged file by path and reason and serves the others', async (disk) => {
    const files = aBucket(disk);
    let engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', seqno: 1 }]));
    await engine.commit(files.bucketUuid, 1, cutsOf([{ vb: 1, key: 'b', value: '', seqno: 1 }]));
    await engine.close(files.bucketUuid);
    disk.damage(files, 0);
    engine = disk.engine();
    const { opened, damaged } = await engine.open(files);
    assert.deepEqual(
      opened.map(({ file }) => file),
      [1],
    );
    assert.equal(damaged[0]?.file, 0);
    assert.ok(damaged[0].path.startsWith(files.folder) && damaged[0].reason.length > 0);
    await assert.rejects(engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'c', seqno: 2 }])), /not open/);
    assert.deepEqual(docTexts(await loaded(engine, files, 1)), ['1 1 b=']);
    await engine.reset(files.bucketUuid, 2);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'c', seqno: 2 }]));
    await engine.stop();
  });

  it('refuses another bucket in the folder', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await engine.close(files.bucketUuid);
    const { opened, damaged } = await engine.open({ ...files, bucketUuid: 'b'.repeat(32) });
    assert.deepEqual(opened, []);
    assert.match(damaged[0]?.reason ?? '', /belongs to bucket aaaa/);
    await engine.stop();
  });

  it('rejects a load with DamagedFileError when the file is found damaged', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf(manyDocs));
    await engine.close(files.bucketUuid);
    await engine.open(files);
    disk.damage(files, 0);
    await assert.rejects(loaded(engine, files, 0), (error) => {
      assert.ok(error instanceof DamagedFileError);
      assert.ok(error.path.startsWith(files.folder));
      return true;
    });
    await assert.rejects(
      engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'z', seqno: 99_999 }])),
      /no more commits/,
    );
    await engine.stop();
  });

  it('rejects with the error of the consumer and serves later calls', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', seqno: 1 }]));
    const failing = engine.load(files.bucketUuid, 0, () => {
      throw new Error('memory is full');
    });
    await assert.rejects(failing, /memory is full/);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'b', seqno: 2 }]));
    assert.equal((await loaded(engine, files)).length, 2);
    await engine.stop();
  });
}

/** More than a connection's page cache holds. */
const manyDocs: Doc[] = Array.from({ length: 4000 }, (_, i) => ({
  key: `k${i}`,
  value: 'v'.repeat(1200),
  seqno: i + 1,
}));
