import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { findBackup } from '../archive/repository.adapter.ts';
import { intervalOfDays } from './days-interval.ts';
import { mergeInterval } from './merge-interval.ts';

const hourMs = 3_600_000;
/** Noon by local time, which no change of clocks moves to another day. */
const januaryTimeMs = (day: number, hour = 12): number => new Date(2026, 0, day, hour).getTime();

const context = {
  clock: realClock,
  random: realRandom,
  signal: new AbortController().signal,
  progress: () => {},
};

test('days are those of the local time zone, from midnight to midnight', () => {
  assert.deepEqual(intervalOfDays({ newest: 0, oldest: 0 }, januaryTimeMs(20)), {
    fromMs: januaryTimeMs(20, 0),
    endMs: januaryTimeMs(21, 0),
  });
  assert.deepEqual(intervalOfDays({ newest: 1, oldest: 7 }, januaryTimeMs(20)), {
    fromMs: januaryTimeMs(13, 0),
    endMs: januaryTimeMs(20, 0),
  });
  // The night in which clocks of the zone are changed, if they are, is in one of these days.
  for (let day = 1; day < 366; day++) {
    const { fromMs, endMs } = intervalOfDays({ newest: 0, oldest: 0 }, januaryTimeMs(day));
    assert.ok(endMs - fromMs >= 23 * hourMs && endMs - fromMs <= 25 * hourMs);
    assert.equal(endMs, intervalOfDays({ newest: 0, oldest: 0 }, januaryTimeMs(day + 1)).fromMs);
  }
  assert.throws(() => intervalOfDays({ newest: 2, oldest: 1 }, januaryTimeMs(20)), /must not be below/);
});

test('a merge of some days takes all backups of these days, and does nothing where there are fewer than two', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-days-'));
  const folder = join(scratch, 'archive');
  try {
    const names = [10, 11, 12, 12, 13].map(
      (day, n) => addBackup(folder, [{ key: `k${n}` }], { startedMs: januaryTimeMs(day) + n }).name,
    );
    const merge = (newest: number, oldest: number) =>
      mergeInterval({ folder, ...intervalOfDays({ newest, oldest }, januaryTimeMs(14)) }, context);
    assert.equal(await merge(0, 0), null);
    assert.equal(await merge(0, 1), null);
    assert.deepEqual((await merge(2, 3))?.backups, [names[1], names[2], names[3]]);
    assert.deepEqual(findBackup(folder).repository.complete(), [names[0], names[3], names[4]]);
    assert.deepEqual((await merge(0, 10_000))?.backups, [names[0], names[3], names[4]]);
  } finally {
    rmSync(scratch, { recursive: true });
  }
});
