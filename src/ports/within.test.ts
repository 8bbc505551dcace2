import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { atMost, untilAborted, within } from './within.ts';

test('within passes the outcome on, and rejects when it takes longer', async () => {
  const clock = new ManualClock();
  assert.equal(await within(clock, 10, Promise.resolve(1)), 1);
  await assert.rejects(within(clock, 10, Promise.reject(new Error('no'))), /^Error: no$/);
  const late = within(clock, 10, new Promise(() => {}), () => new Error('late'));
  clock.advance(10);
  await assert.rejects(late, /^Error: late$/);
  assert.equal(clock.pending, 0);
});

test('atMost waits for the promise, but no longer than the time', async () => {
  const clock = new ManualClock();
  await atMost(clock, 10, Promise.resolve());
  await assert.rejects(atMost(clock, 10, Promise.reject(new Error('no'))), /^Error: no$/);
  const late = atMost(clock, 10, new Promise(() => {}));
  clock.advance(10);
  await late;
  assert.equal(clock.pending, 0);
});

test('untilAborted rejects with the signal, and passes a late result to be discarded', async () => {
  const cancelled = new AbortController();
  const work = Promise.withResolvers<string>();
  const late: string[] = [];
  const waiting = assert.rejects(
    untilAborted(cancelled.signal, work.promise, (value) => late.push(value)),
    /cancelled/,
  );
  cancelled.abort(new Error('cancelled'));
  await waiting;
  work.resolve('late');
  await work.promise;
  assert.deepEqual(late, ['late']);
  const { signal } = new AbortController();
  assert.equal(await untilAborted(signal, Promise.resolve('value'), () => assert.fail()), 'value');
  await assert.rejects(
    untilAborted(signal, Promise.reject(new Error('failed')), () => assert.fail()),
    /failed/,
  );
});
