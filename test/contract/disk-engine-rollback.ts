// Rolling one vbucket back to a seqno. Run with every disk engine.
import assert from 'node:assert/strict';
import { CutBits } from '#kv/data/cut.ts';
import { everyTombstone } from '#kv/data/disk-engine.ts';
import { cutsOf, type Doc, docsOf, docTexts, loaded } from '../support/cuts.ts';
import { aBucket, type DiskUnderTest, titled } from './disk-engine.ts';

const uuid = 'a'.repeat(32);
const large = (letter: string): string => letter.repeat(5000);
/** Large values by their first letter and their length. */
const textsOf = (docs: readonly Doc[]): string[] =>
  docTexts(docs).map((text) =>
    text.replace(/=(\w)\1{99,}/, (found, letter) => `=${letter} * ${found.length - 1}`),
  );

export function describeDiskEngineRollback(name: string, make: () => Promise<DiskUnderTest>): void {
  const it = titled(name, make);
  const docs: Doc[] = [
    { key: '\0a', value: '1', seqno: 1 },
    { key: '\0b', value: large('b'), seqno: 2 },
    { key: '\0c', value: large('c'), seqno: 14 },
    { key: '\0d', seqno: 15, bits: CutBits.deleted, expiry: 7 },
    { key: '\0e', value: '5', seqno: 16 },
    { vb: 4, key: '\0f', value: large('f'), seqno: 30 },
  ];
  const upTo = (endSeqno: number, purgeSeqno = 0) => ({ endSeqno, purgeSeqno, snapStart: 1, snapEnd: 12 });
  const texts = ['0 1 \0a=1', '0 2 \0b=b * 5000', '0 3 \0c=x * 5000', '0 9 \0e=old'];

  it('removes the rows above a seqno and writes those given, also after a crash', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    await engine.commit(uuid, 0, cutsOf(docs, { purgeSeqno: 0 }));
    const older = [
      { key: '\0c', value: large('x'), seqno: 3 },
      { key: '\0e', value: 'old', seqno: 9 },
    ];
    assert.equal(await engine.rollBack(uuid, 0, cutsOf(older, upTo(10))), true);
    const page = await engine.backfill(uuid, 0, 0, 0);
    assert.deepEqual([textsOf(docsOf(page.batch)), page.endSeqno], [texts, 10]);
    await disk.kill(engine);
    const again = disk.engine();
    const { damaged, opened } = await again.open(aBucket(disk));
    assert.deepEqual(damaged, []);
    const { vbuckets = [] } = opened[0] ?? {};
    assert.deepEqual(
      vbuckets.map(({ vb, highSeqno, snapEnd, snapStart }) => [vb, highSeqno, snapStart, snapEnd]),
      [
        [0, 10, 1, 12],
        [4, 30, 1, 9],
      ],
    );
    const rows = textsOf(await loaded(again, aBucket(disk)));
    assert.deepEqual(rows, [...texts, '4 30 \0f=f * 5000']);
    // The seqnos above 10 are free again.
    await again.commit(uuid, 0, cutsOf([{ key: '\0c', value: large('n'), seqno: 14 }], { purgeSeqno: 0 }));
    assert.equal((await again.backfill(uuid, 0, 0, 10)).endSeqno, 14);
    assert.deepEqual(
      textsOf(docsOf((await again.fetchItems(uuid, 0, [{ vb: 0, key: Buffer.from('\0c') }])).batch)),
      ['0 14 \0c=n * 5000'],
    );
    await again.stop();
  });

  it('does not roll a vbucket back where that would leave out a deletion or write a seqno twice', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    await engine.commit(uuid, 0, cutsOf(docs, { purgeSeqno: 0 }));
    const refused: Doc[][] = [
      [{ key: '\0c', seqno: 1 }],
      [{ key: '\0c', seqno: 11 }],
      [
        { key: '\0c', seqno: 5 },
        { key: '\0e', seqno: 5 },
      ],
    ];
    for (const items of refused)
      assert.equal(await engine.rollBack(uuid, 0, cutsOf(items, upTo(10))), false, JSON.stringify(items));
    await engine.compact(uuid, 0, { purgeBeforeSeconds: everyTombstone });
    assert.equal(await engine.rollBack(uuid, 0, cutsOf([{ key: '\0c', seqno: 5 }], upTo(10))), false);
    assert.equal((await engine.backfill(uuid, 0, 0, 0)).endSeqno, 16);
    assert.equal(textsOf(await loaded(engine, aBucket(disk))).length, docs.length - 1);
    assert.equal(await engine.rollBack(uuid, 0, cutsOf([{ key: '\0e', seqno: 3 }], upTo(15))), true);
    await engine.stop();
  });
}
