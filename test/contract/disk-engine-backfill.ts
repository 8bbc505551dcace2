// Reading a vbucket's rows in seqno order, page by page, during commits. Run with every disk engine.
import assert from 'node:assert/strict';
import { CutBits, CutReader } from '#kv/data/cut.ts';
import type { DiskEngine } from '#kv/data/disk-engine.ts';
import { cutsOf } from '../support/cuts.ts';
import { aBucket, type DiskUnderTest, titled } from './disk-engine.ts';

const uuid = 'a'.repeat(32);

export function describeDiskEngineBackfill(name: string, make: () => Promise<DiskUnderTest>): void {
  const it = titled(name, make);

  it('reads the rows of one vbucket after a seqno, up to its high seqno', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    const docs = [
      { key: 'a', value: '1', seqno: 1 },
      { key: 'b', value: '2', seqno: 2, bits: CutBits.deleted, expiry: 7 },
      { key: 'c', value: 'x'.repeat(5000), seqno: 4 },
      { vb: 2, key: 'd', value: '4', seqno: 3 },
    ];
    await engine.commit(uuid, 0, cutsOf(docs, { endSeqno: 6 }));
    const page = await engine.backfill(uuid, 0, 0, 1);
    assert.deepEqual(rowsOf(page.batch), ['2 b=2', `4 c=${'x'.repeat(5000)}`]);
    assert.deepEqual([page.toSeqno, page.endSeqno, page.purgeSeqno], [6, 6, 3]);
    await engine.stop();
  });

  it('returns an empty page for a vbucket that was never written', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    await engine.commit(uuid, 0, cutsOf([{ vb: 2, key: 'a', seqno: 1 }]));
    const page = await engine.backfill(uuid, 0, 0, 0);
    assert.deepEqual([page.toSeqno, page.endSeqno, rowsOf(page.batch)], [0, 0, []]);
    await engine.stop();
  });

  it('reads several pages, each of which is a consistent snapshot', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    const value = 'v'.repeat(1000);
    const docs = Array.from({ length: 3000 }, (_, i) => ({ key: `k${i}`, value, seqno: i + 1 }));
    await engine.commit(uuid, 0, cutsOf(docs));
    const first = await engine.backfill(uuid, 0, 0, 0);
    assert.ok(first.toSeqno > 0 && first.toSeqno < 3000);
    assert.equal(first.endSeqno, 3000);
    // The last key moves after all rows of the first page.
    await engine.commit(uuid, 0, cutsOf([{ key: 'k2999', value: 'new', seqno: 3001 }]));
    const rest = await readAll(engine, first.toSeqno);
    assert.equal(rowsOf(first.batch).length + rest.rows.length, 3000);
    assert.equal(rest.rows.at(-1), '3001 k2999=new');
    assert.equal(rest.endSeqno, 3001);
    await engine.stop();
  });

  it('reads small pages that are requested together, each from its own vbucket', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    const vbuckets = Array.from({ length: 100 }, (_, n) => 2 * n);
    const docs = vbuckets.map((vb) => ({ vb, key: `k${vb}`, value: `v${vb}`, seqno: 3 }));
    for (const doc of docs) await engine.commit(uuid, 0, cutsOf([doc], { endSeqno: 4 }));
    const asked = [...vbuckets, 300];
    const pages = await Promise.all(asked.map((vb) => engine.backfill(uuid, 0, vb, 0, 30_000)));
    assert.deepEqual(
      pages.map(({ batch, toSeqno, endSeqno }) => [...rowsOf(batch), toSeqno, endSeqno]),
      [...vbuckets.map((vb) => [`3 k${vb}=v${vb}`, 4, 4]), [0, 0]],
    );
    await engine.stop();
  });

  it('returns each page complete or empty, the first complete, if small pages that are requested together have large documents', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    const value = 'v'.repeat(2 ** 20);
    for (const vb of [0, 2, 4])
      await engine.commit(uuid, 0, cutsOf([{ vb, key: `k${vb}`, value, seqno: 1 }]));
    const complete = new Set<number>();
    for (let left = [0, 2, 4]; left.length > 0; left = left.filter((vb) => !complete.has(vb))) {
      const pages = await Promise.all(left.map((vb) => engine.backfill(uuid, 0, vb, 0, 30_000)));
      for (const [at, { batch, toSeqno, endSeqno }] of pages.entries()) {
        const isComplete = toSeqno === 1;
        assert.equal(endSeqno, 1);
        assert.deepEqual(rowsOf(batch), isComplete ? [`1 k${left[at]}=${value}`] : []);
        if (isComplete) complete.add(left[at] as number);
      }
      assert.ok(complete.has(left[0] as number), 'the first page is not complete');
    }
    await engine.stop();
  });

  it('sees every acknowledged commit, also after a reset', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    await engine.commit(uuid, 0, cutsOf([{ key: 'a', value: 'old', seqno: 1 }]));
    assert.deepEqual(rowsOf((await engine.backfill(uuid, 0, 0, 0)).batch), ['1 a=old']);
    await engine.reset(uuid, 2);
    assert.equal((await engine.backfill(uuid, 0, 0, 0)).endSeqno, 0);
    await engine.commit(uuid, 0, cutsOf([{ key: 'a', value: 'new', seqno: 1 }]));
    assert.deepEqual(rowsOf((await engine.backfill(uuid, 0, 0, 0)).batch), ['1 a=new']);
    await engine.close(uuid);
    await assert.rejects(engine.backfill(uuid, 0, 0, 0), /not open/);
    await engine.stop();
  });
}

async function readAll(
  engine: DiskEngine,
  afterSeqno: number,
): Promise<{ rows: string[]; endSeqno: number }> {
  const rows: string[] = [];
  for (let after = afterSeqno; ; ) {
    const page = await engine.backfill(uuid, 0, 0, after);
    rows.push(...rowsOf(page.batch));
    if (page.toSeqno === page.endSeqno) return { rows, endSeqno: page.endSeqno };
    after = page.toSeqno;
  }
}

function rowsOf(batch: Uint8Array): string[] {
  const rows: string[] = [];
  const reader = new CutReader(batch);
  while (reader.nextCut()) {
    while (reader.nextItem()) {
      const { buffer, keyStart, keyEnd, valueStart, valueEnd, seqno } = reader.item;
      const key = buffer.toString('latin1', keyStart, keyEnd);
      rows.push(`${seqno} ${key}=${buffer.toString('latin1', valueStart, valueEnd)}`);
    }
  }
  return rows;
}
