// Pages of several vbuckets that are read together; one of them is damaged.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { cutsOf } from '../../../../test/support/cuts.ts';
import { DamagedFileError } from '../../data/disk-engine.ts';
import { sqliteEngine } from './sqlite-engine.ts';

test('a damaged row makes the read of its page fail, but not those of the pages that are read with it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'divan-damage-'));
  t.after(() => rm(folder, { recursive: true }));
  const files = { folder: join(folder, 'bucket'), bucketUuid: 'd'.repeat(32), incarnation: 1, fileCount: 1 };
  const engine = sqliteEngine();
  await engine.open(files);
  for (const vb of [0, 1, 2])
    await engine.commit(files.bucketUuid, 0, cutsOf([{ vb, key: `k${vb}`, value: 'value', seqno: 1 }]));
  await engine.close(files.bucketUuid);
  const db = new DatabaseSync(join(files.folder, 'data-0.1.db'));
  db.exec(`update doc set val = x'00' where vb = 1`);
  db.close();
  await engine.open(files);
  const pages = [0, 1, 2].map((vb) => engine.backfill(files.bucketUuid, 0, vb, 0, 1_000));
  const damaged = pages[1];
  assert.ok(damaged);
  const failure = assert.rejects(damaged, (error: DamagedFileError) => {
    assert.ok(error instanceof DamagedFileError);
    return error.path.endsWith('data-0.1.db') && /vbucket 1, seqno 1/.test(error.reason);
  });
  const whole = await Promise.all([pages[0], pages[2]]);
  assert.deepEqual(
    whole.map((page) => page?.toSeqno),
    [1, 1],
  );
  await failure;
  await engine.stop();
});
