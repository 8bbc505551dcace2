// The contract of every disk engine for reading single documents.
import assert from 'node:assert/strict';
import { CutBits, CutReader } from '#kv/data/cut.ts';
import type { ExpiredKey, FetchedItems } from '#kv/data/disk-engine.ts';
import type { DocumentKey } from '#kv/data/document-keys.ts';
import { cutsOf } from '../support/cuts.ts';
import { aBucket, type DiskUnderTest, titled } from './disk-engine.ts';

const want = (key: string, vb = 0) => ({ vb, key: Buffer.from(key) });

/** Short text of each item. */
function itemTexts({ batch }: FetchedItems): string[] {
  const reader = new CutReader(batch);
  const texts: string[] = [];
  while (reader.nextCut()) {
    while (reader.nextItem()) {
      const { buffer, keyStart, keyEnd, valueStart, valueEnd, seqno, bits } = reader.item;
      const key = buffer.toString('latin1', keyStart, keyEnd);
      const value = buffer.toString('latin1', valueStart, valueEnd);
      texts.push(`${reader.state.vb} ${seqno} ${key}=${value.slice(0, 10)}${value.length} ${bits}`);
    }
  }
  return texts;
}

export function describeFetching(name: string, make: () => Promise<DiskUnderTest>): void {
  const it = titled(name, make);

  it('fetches documents by key, including tombstones and large values', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const commit = (docs: Parameters<typeof cutsOf>[0]) => engine.commit(files.bucketUuid, 0, cutsOf(docs));
    await commit([
      { vb: 0, key: 'a', value: 'old', seqno: 1 },
      { vb: 0, key: 'big', value: 'b'.repeat(100_000), seqno: 2 },
      { vb: 2, key: 'a', value: 'other', seqno: 1 },
      { vb: 0, key: 'gone', value: '', seqno: 3, bits: CutBits.deleted, expiry: 7 },
    ]);
    const wants = [want('a'), want('none'), want('big'), want('a', 2), want('gone'), want('a', 4)];
    const fetchAll = async () => itemTexts(await engine.fetchItems(files.bucketUuid, 0, wants));
    assert.deepEqual(await fetchAll(), [
      '0 1 a=old3 0',
      '0 2 big=bbbbbbbbbb100000 0',
      '2 1 a=other5 0',
      '0 3 gone=0 1',
    ]);
    await commit([{ vb: 0, key: 'a', value: 'new!', seqno: 9 }]);
    await commit([{ vb: 0, key: 'big', value: 'c'.repeat(50_000), seqno: 10 }]);
    assert.deepEqual((await fetchAll()).slice(0, 2), ['0 9 a=new!4 0', '0 10 big=cccccccccc50000 0']);
    await engine.stop();
  });

  it('fetches many keys at once', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const docs = Array.from({ length: 2000 }, (_, i) => ({ key: `k${i}`, value: `${i}`, seqno: i + 1 }));
    await engine.commit(files.bucketUuid, 0, cutsOf(docs));
    const wants = docs.map(({ key }) => want(key)).reverse();
    const fetched = await engine.fetchItems(files.bucketUuid, 0, wants);
    assert.deepEqual(fetched.damaged, []);
    assert.equal(itemTexts(fetched).length, 2000);
    assert.equal(itemTexts(fetched)[0], '0 2000 k1999=19994 0');
    await engine.stop();
  });

  it('names the keys of documents that have expired, the longest expired first', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const docs = [
      { key: 'never', seqno: 1 },
      { key: 'b', seqno: 2, expiry: 50 },
      { key: 'a', seqno: 3, expiry: 40, vb: 2 },
      { key: 'later', seqno: 4, expiry: 51 },
      { key: 'gone', seqno: 5, expiry: 30, bits: CutBits.deleted },
      { key: 'c', seqno: 6, expiry: 40 },
      { key: 'd', seqno: 7, expiry: 40 },
    ];
    await engine.commit(files.bucketUuid, 0, cutsOf(docs));
    const keys = async (limit: number, after: ExpiredKey | null = null) =>
      await engine.expiredKeys(files.bucketUuid, 0, { atSeconds: 50, after, limit });
    const all = await keys(10);
    const expected = ['0 c 40', '0 d 40', '2 a 40', '0 b 50'];
    assert.deepEqual(
      all.map(({ vb, key, expiry }) => `${vb} ${key} ${expiry}`),
      expected,
    );
    assert.deepEqual(await keys(1), all.slice(0, 1));
    for (const [at, key] of all.entries())
      for (const limit of [1, 2, 10])
        assert.deepEqual(await keys(limit, key), all.slice(at + 1, at + 1 + limit));
    await engine.stop();
  });

  it('names the keys of the live documents of a collection, page by page', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const docs = [
      { key: '\x07z', seqno: 1 },
      { key: '\x08a', seqno: 2 },
      { key: '\x08zz', seqno: 3 },
      { key: '\x08b', seqno: 4, bits: CutBits.deleted },
      { key: '\x09', seqno: 5 },
      { key: '\x08a', seqno: 1, vb: 2 },
    ];
    await engine.commit(files.bucketUuid, 0, cutsOf(docs));
    const pages: string[][] = [];
    for (let after: DocumentKey | null = null; ; ) {
      const order = { prefix: Uint8Array.of(8), after, limit: 2 };
      const page: DocumentKey[] = await engine.collectionKeys(files.bucketUuid, 0, order);
      pages.push(page.map(({ vb, key }) => `${vb} ${key.toString('hex')}`));
      if (page.length < 2) break;
      after = page.at(-1) as DocumentKey;
    }
    assert.deepEqual(pages, [['0 0861', '0 087a7a'], ['2 0861']]);
    await engine.stop();
  });

  it('fetches nothing after a reset, and refuses after close', async (disk) => {
    const files = aBucket(disk);
    const engine = disk.engine();
    await engine.open(files);
    const fetchAll = () => engine.fetchItems(files.bucketUuid, 0, [want('a')]);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value: 'x', seqno: 1 }]));
    assert.equal(itemTexts(await fetchAll()).length, 1);
    await engine.reset(files.bucketUuid, 2);
    assert.deepEqual(itemTexts(await fetchAll()), []);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'a', value: 'y', seqno: 1 }]));
    assert.deepEqual(itemTexts(await fetchAll()), ['0 1 a=y1 0']);
    await engine.close(files.bucketUuid);
    await assert.rejects(fetchAll, /not open/);
    await engine.open({ ...files, incarnation: 2 });
    assert.deepEqual(itemTexts(await fetchAll()), ['0 1 a=y1 0']);
    await engine.stop();
  });
}
