import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Deferred, deferred } from '#base/deferred.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { PeriodicTask } from './periodic-task.ts';

const everyMs = 100;

/** A task whose runs end when the test says so. */
function aTask() {
  const clock = new ManualClock();
  const errors: string[] = [];
  const runs: Deferred<void>[] = [];
  const periodic = new PeriodicTask({ everyMs, clock, onError: ({ message }) => errors.push(message) });
  const task = (): Promise<void> => {
    const run = deferred<void>();
    runs.push(run);
    return run.promise;
  };
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { clock, errors, runs, periodic, task, turn };
}

test('the next run starts a fixed time after the end of the previous one, also of a failed one', async () => {
  const { clock, errors, runs, periodic, task, turn } = aTask();
  periodic.start(task);
  clock.advance(everyMs - 1);
  assert.equal(runs.length, 0);
  clock.advance(1);
  clock.advance(10 * everyMs);
  assert.equal(runs.length, 1);
  runs[0]?.reject(new Error('unreadable'));
  await turn();
  assert.deepEqual(errors, ['unreadable']);
  clock.advance(everyMs);
  assert.equal(runs.length, 2);
});

test('stop waits for the current run, and no further one starts', async () => {
  const { clock, runs, periodic, task, turn } = aTask();
  periodic.start(task);
  clock.advance(everyMs);
  let hasStopped = false;
  const stopping = periodic.stop().then(() => {
    hasStopped = true;
  });
  await turn();
  assert.equal(hasStopped, false);
  runs[0]?.resolve();
  await stopping;
  clock.advance(10 * everyMs);
  assert.equal(runs.length, 1);
});

test('start after stop runs the task again, never twice at once', async () => {
  const { clock, runs, periodic, task, turn } = aTask();
  periodic.start(task);
  clock.advance(everyMs);
  void periodic.stop();
  periodic.start(task);
  clock.advance(10 * everyMs);
  assert.equal(runs.length, 1);
  runs[0]?.resolve();
  await turn();
  clock.advance(everyMs);
  assert.equal(runs.length, 2);
  runs[1]?.resolve();
  await periodic.stop();
  periodic.start(task);
  clock.advance(everyMs);
  assert.equal(runs.length, 3);
});

test('a second start replaces the task and does not add runs', () => {
  const { clock, runs, periodic, task } = aTask();
  periodic.start(() => Promise.reject(new Error('replaced')));
  periodic.start(task);
  clock.advance(everyMs);
  assert.equal(runs.length, 1);
});
