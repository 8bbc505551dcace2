import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { retryMs, SavedState } from './saved-state.ts';

/** A state whose copy cannot be saved while `isFull`. */
function aState() {
  const clock = new ManualClock();
  const disk = { isFull: true, saved: [] as string[], warnings: 0 };
  const log: Log = { ...silentLog, warn: () => disk.warnings++ };
  const copy = {
    save({ records }: { records: readonly { key: string }[] }) {
      if (disk.isFull) throw new Error('database or disk is full');
      disk.saved.push(...records.map(({ key }) => key));
    },
    close() {},
  };
  const seen = {
    load: () => null,
    save: ({ revision }: { revision: number }) => disk.saved.push(`${revision}`),
  };
  const head = () => ({ identity: 'i', revision: 7 });
  const state = new SavedState({ seen, copy, head, record: () => undefined, clock, log });
  return { clock, disk, state };
}

test('a failed save is repeated until it succeeds, and logged once', () => {
  const { clock, disk, state } = aState();
  state.changed('users');
  clock.advance(60_000);
  assert.deepEqual(disk, { isFull: true, saved: [], warnings: 1 });
  disk.isFull = false;
  clock.advance(retryMs);
  assert.deepEqual(disk.saved, ['users', '7']);
  assert.equal(clock.pending, 0);
});

test('a failed save is repeated when the state is closed, and not after that', () => {
  const { clock, disk, state } = aState();
  state.changed('users');
  clock.advance(2_000);
  disk.isFull = false;
  state.close();
  assert.deepEqual(disk.saved, ['users', '7']);
  const full = aState();
  full.state.changed('users');
  full.state.close();
  assert.equal(full.clock.pending, 0);
});
