import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { retryPauseMs, SavedState, sameValueSaveMs } from './saved-state.ts';

const recordOf = (key: string, json: string | null) => ({ key, json, revision: 7, writes: null });
const users = recordOf('users', '[]');

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
  state.changed(users, undefined);
  clock.advance(60_000);
  assert.deepEqual(disk, { isFull: true, saved: [], warnings: 1 });
  disk.isFull = false;
  clock.advance(retryPauseMs);
  assert.deepEqual(disk.saved, ['users', '7']);
  assert.equal(clock.pending, 0);
});

test('a failed save is repeated when the state is closed, and not after that', () => {
  const { clock, disk, state } = aState();
  state.changed(users, undefined);
  clock.advance(2_000);
  disk.isFull = false;
  state.close();
  assert.deepEqual(disk.saved, ['users', '7']);
  const full = aState();
  full.state.changed(users, undefined);
  full.state.close();
  assert.equal(full.clock.pending, 0);
});

test('a record with the value that it had is saved late, together with the next change of another value at the latest', () => {
  const { clock, disk, state } = aState();
  disk.isFull = false;
  const renewed = recordOf('orchestrator', '{}');
  state.changed(renewed, renewed);
  clock.advance(sameValueSaveMs - 1);
  assert.deepEqual(disk.saved, []);
  clock.advance(1);
  assert.deepEqual(disk.saved, ['orchestrator', '7']);
  state.changed(renewed, renewed);
  state.changed(users, recordOf('users', null));
  clock.advance(1_000);
  assert.deepEqual(disk.saved.slice(2), ['orchestrator', 'users', '7']);
  assert.equal(clock.pending, 0);
});

test('changes while saves fail do not repeat the save more often', () => {
  const { clock, disk, state } = aState();
  state.changed(users, undefined);
  clock.advance(1_000);
  disk.isFull = false;
  state.changed(users, undefined);
  clock.advance(retryPauseMs - 1);
  assert.deepEqual(disk.saved, []);
  clock.advance(1);
  assert.deepEqual(disk.saved, ['users', '7']);
});
