// Reading documents back from disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';
import { BackgroundFetches } from './background-fetches.ts';
import { Timings } from './timings.ts';

test('whoever is sent away before the read begins is answered once', async () => {
  const disk = new MemoryDisk().engine();
  await disk.open({ folder: '/f', bucketUuid: 'f', incarnation: 1, fileCount: 1 });
  const fetches = new BackgroundFetches({
    disk,
    bucketUuid: 'f',
    fileCount: 1,
    clock: new ManualClock(),
    timings: new Timings(),
    tick: () => {},
    take: () => true,
    noteAbsent: () => {},
  });
  const answers: Status[] = [];
  fetches.add(0, Buffer.from('\0k'), (status) => answers.push(status));
  fetches.clear();
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(answers, [Status.temporaryFailure]);
  assert.equal(fetches.fetched, 0);
});
