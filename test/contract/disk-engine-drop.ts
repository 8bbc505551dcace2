// Tests of the removal of vbuckets, run with every disk engine.

import assert from 'node:assert/strict';
import { CutBits } from '#kv/data/cut.ts';
import { everyTombstone } from '#kv/data/disk-engine.ts';
import { cutsOf } from '../support/cuts.ts';
import { aBucket, type DiskUnderTest, titled } from './disk-engine.ts';

const uuid = 'a'.repeat(32);

export function describeDiskEngineDrop(name: string, make: () => Promise<DiskUnderTest>): void {
  const it = titled(name, make);
  const docs = [
    { key: '\0a', value: '1', seqno: 1 },
    { key: '\0b', value: '2', seqno: 2, bits: CutBits.deleted, expiry: 7 },
    { key: '\0c', value: 'x'.repeat(5000), seqno: 4 },
    { key: '\x08d', value: '3', seqno: 5 },
    { vb: 4, key: '\0e', value: 'y'.repeat(5000), seqno: 3 },
    { vb: 8, key: '\0f', value: '4', seqno: 1 },
  ];

  it('removes vbuckets with their states and leaves the others, also after a crash', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    await engine.commit(uuid, 0, cutsOf(docs));
    await engine.drop(uuid, 0, [0, 8]);
    const page = await engine.backfill(uuid, 0, 0, 0);
    assert.deepEqual([page.batch.length, page.toSeqno, page.endSeqno], [0, 0, 0]);
    await disk.kill(engine);
    const again = disk.engine();
    const { opened, damaged } = await again.open(aBucket(disk));
    assert.deepEqual(damaged, []);
    assert.deepEqual(
      opened.flatMap(({ vbuckets }) => vbuckets.map(({ vb }) => vb)),
      [4],
    );
    assert.equal((await again.backfill(uuid, 0, 4, 0)).endSeqno, 3);
    await again.stop();
  });

  it('stores a removed vbucket again, with seqnos that it had before and with a lower purge seqno', async (disk) => {
    const engine = disk.engine();
    await engine.open(aBucket(disk));
    await engine.commit(uuid, 0, cutsOf(docs));
    await engine.compact(uuid, 0, { purgeBeforeSeconds: everyTombstone });
    assert.ok((await engine.backfill(uuid, 0, 0, 0)).purgeSeqno > 0);
    await engine.drop(uuid, 0, [0]);
    await engine.drop(uuid, 0, [0]);
    await engine.commit(uuid, 0, cutsOf([{ key: '\0c', value: 'z', seqno: 1 }], { purgeSeqno: 0 }));
    const page = await engine.backfill(uuid, 0, 0, 0);
    assert.deepEqual([page.endSeqno, page.purgeSeqno], [1, 0]);
    await engine.stop();
  });
}
