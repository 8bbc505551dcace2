import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { Repository } from '../archive/repository.adapter.ts';
import { readPartialFile } from './partial-file.ts';

test('the file of an interrupted backup is read in turns of the thread, and no further once the task is cancelled', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-partial-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const keys = Array.from({ length: 20 }, (_, n) => ({ key: `k${n}` }));
  const manifest = addBackup(folder, keys);
  using data = Repository.open(folder).data(manifest, 0);
  const blocks = manifest.buckets[0]?.vbuckets.filter(({ last }) => last > 0).length as number;
  assert.ok(blocks > 10);
  const cancelled = new AbortController();
  let turns = 0;
  const clock = {
    soon: (callback: () => void) => {
      turns++;
      realClock.soon(callback);
    },
  };
  const { vbuckets, bytes } = await readPartialFile(data, { clock, signal: cancelled.signal });
  assert.deepEqual([vbuckets.size, bytes, turns], [blocks, data.bytes, blocks]);
  const reading = readPartialFile(data, { clock, signal: cancelled.signal });
  cancelled.abort(new Error('the task was cancelled'));
  await assert.rejects(reading, /the task was cancelled/);
  assert.equal(turns, blocks + 1);
});
