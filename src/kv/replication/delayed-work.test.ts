import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { busyPerMs, DelayedWork, delayMs } from './delayed-work.ts';

test('work waits a short time, and longer while there is much of it', () => {
  const clock = new ManualClock();
  const delayed = new DelayedWork(clock);
  let done = 0;
  const add = (pieces: number): void => {
    for (let i = 0; i < pieces; i++) delayed.add(() => done++);
  };
  /** The time after which the work that waits is done. */
  const waited = (pieces: number): number => {
    add(pieces);
    done = 0;
    let ms = 0;
    for (; done < pieces; ms++) clock.advance(1);
    return ms;
  };
  const many = busyPerMs * delayMs.busy;
  assert.equal(waited(1), delayMs.quiet);
  assert.equal(waited(busyPerMs * delayMs.quiet - 1), delayMs.quiet);
  assert.equal(waited(busyPerMs * delayMs.quiet), delayMs.quiet);
  assert.equal(waited(many), delayMs.busy);
  assert.equal(waited(many - 1), delayMs.busy);
  assert.equal(waited(1), delayMs.quiet);
});
