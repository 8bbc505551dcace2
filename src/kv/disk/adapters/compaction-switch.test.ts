// What readers see once a compaction has replaced a file, while the compaction is still ending.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { cutsOf, docsOf, docTexts } from '../../../../test/support/cuts.ts';
import type { Lane, LaneArguments, LaneOperation, LaneResult } from '../lane.ts';
import { LaneEngine } from '../lane-engine.ts';
import { SqliteLane } from './sqlite-lane.ts';

/** A lane in this thread that calls `before` ahead of each call. */
function laneWith(before: (operation: LaneOperation) => Promise<void>): Lane {
  const lane = new SqliteLane(realClock);
  return {
    hasEnded: false,
    async call<K extends LaneOperation>(operation: K, ...args: LaneArguments<K>): Promise<LaneResult<K>> {
      await before(operation);
      const act = lane[operation] as (...args: LaneArguments<K>) => LaneResult<K>;
      return act.apply(lane, args);
    },
    stop: async () => lane.stop(),
  };
}

test('a read after a commit to the file that a compaction made sees the commit, before the compaction has ended', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-switch-'));
  const switched = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  // The copy is given up after the switch: the compaction ends only then.
  const before = async (operation: LaneOperation): Promise<void> => {
    if (operation !== 'abandonCopy') return;
    switched.resolve();
    await read.promise;
  };
  const engine = new LaneEngine(() => laneWith(before), realClock);
  const files = { bucketUuid: 'a'.repeat(32), incarnation: 1, fileCount: 1, folder: join(folder, 'b') };
  const key = Buffer.from('key');
  const fetched = async () => {
    const { batch } = await engine.fetchItems(files.bucketUuid, 0, [{ vb: 0, key }]);
    return docTexts(docsOf(batch));
  };
  try {
    await engine.open(files);
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'key', value: 'old', seqno: 1 }]));
    assert.deepEqual(await fetched(), ['0 1 key=old']);
    const compacted = engine.compact(files.bucketUuid, 0, { purgeBeforeSeconds: 0 });
    await switched.promise;
    await engine.commit(files.bucketUuid, 0, cutsOf([{ key: 'key', value: 'new', seqno: 2 }]));
    assert.deepEqual(await fetched(), ['0 2 key=new']);
    // No page of this file was read before: the reader opens the file now.
    const page = await engine.backfill(files.bucketUuid, 0, 0, 0);
    assert.deepEqual(docTexts(docsOf(page.batch)), ['0 2 key=new']);
    read.resolve();
    await compacted;
  } finally {
    read.resolve();
    await engine.stop();
    rmSync(folder, { recursive: true });
  }
});
