import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { SharedTimers } from './shared-timers.ts';

test('shared timers fire after their delay, in order, once', () => {
  const clock = new ManualClock();
  const timers = new SharedTimers(clock);
  const fired: string[] = [];
  timers.after(2_500, () => fired.push('a'));
  clock.advance(1_200);
  timers.after(2_500, () => fired.push('b'));
  timers.after(100, () => fired.push('short'));
  clock.advance(1_299);
  assert.deepEqual(fired, ['short']);
  clock.advance(1);
  assert.deepEqual(fired, ['short', 'a']);
  clock.advance(1_199);
  assert.deepEqual(fired, ['short', 'a']);
  clock.advance(1);
  assert.deepEqual(fired, ['short', 'a', 'b']);
  clock.advance(10_000);
  assert.equal(fired.length, 3);
});

test('a cancelled timer does not fire, and a timer may start another one with the same delay', () => {
  const clock = new ManualClock();
  const timers = new SharedTimers(clock);
  const fired: string[] = [];
  timers.after(10, () => fired.push('cancelled')).cancel();
  timers.after(10, () => {
    fired.push('first');
    timers.after(10, () => fired.push('second'));
  });
  clock.advance(10);
  assert.deepEqual(fired, ['first']);
  clock.advance(10);
  assert.deepEqual(fired, ['first', 'second']);
});

test('timers beyond the shared delays fire and can be cancelled', () => {
  const clock = new ManualClock();
  const timers = new SharedTimers(clock);
  const fired: number[] = [];
  const started = Array.from({ length: 20 }, (_, at) => timers.after(100 + at, () => fired.push(at)));
  for (const [at, timer] of started.entries()) if (at % 2 === 0) timer.cancel();
  clock.advance(1_000);
  assert.deepEqual(
    fired,
    Array.from({ length: 10 }, (_, at) => 2 * at + 1),
  );
});

test('no timer of the clock remains when none is waiting', () => {
  const clock = new ManualClock();
  const timers = new SharedTimers(clock);
  timers.after(75_000, () => {}).cancel();
  clock.advance(1_000);
  assert.equal(clock.pending, 0);
});
