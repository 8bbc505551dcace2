import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { nextTurn } from '../../ports/clock.ts';
import { busyPerMs, DelayedWork, delayMs, perTurn } from './delayed-work.ts';

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

test('much work is done in several turns of the event loop, in order', async () => {
  const clock = new ManualClock();
  const delayed = new DelayedWork(clock);
  const done: number[] = [];
  const pieces = 2 * perTurn + 1;
  for (let piece = 0; piece < pieces; piece++) delayed.add(() => done.push(piece));
  clock.advance(delayMs.quiet);
  for (const expected of [perTurn, 2 * perTurn, pieces, pieces]) {
    assert.equal(done.length, expected);
    await nextTurn(clock);
  }
  assert.deepEqual(done, [...Array(pieces).keys()]);
});
