import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { LongStatements } from './long-statements.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

function aQueue() {
  const clock = new ManualClock();
  const queue = new LongStatements(clock);
  const planned: number[] = [];
  const { signal } = new AbortController();
  const plan = (name: number, tookMs: number, by: AbortSignal = signal) =>
    queue.inTurn(by, () => {
      planned.push(name);
      clock.advance(tookMs);
      return name;
    });
  return { clock, plan, planned };
}

test('a long statement is planned when the thread was free for as long as the one before took', async () => {
  const { clock, plan, planned } = aQueue();
  const all = [plan(1, 200), plan(2, 50), plan(3, 10)];
  await turn();
  assert.deepEqual(planned, [1]);
  clock.advance(199);
  await turn();
  assert.deepEqual(planned, [1]);
  clock.advance(1);
  await turn();
  assert.deepEqual(planned, [1, 2]);
  clock.advance(50);
  assert.deepEqual(await Promise.all(all), [1, 2, 3]);
});

test('a statement that fails or is cancelled gives its turn to the next', async () => {
  const { clock, plan, planned } = aQueue();
  const cancellation = new AbortController();
  const first = plan(1, 100);
  const second = plan(2, 100, cancellation.signal);
  const third = plan(3, 0);
  await first;
  cancellation.abort(new Error('cancelled'));
  await assert.rejects(second, /cancelled/);
  clock.advance(100);
  await third;
  assert.deepEqual(planned, [1, 3]);
});

test('an error of the parser is the answer, and counts as time of the thread', async () => {
  const clock = new ManualClock();
  const queue = new LongStatements(clock);
  const { signal } = new AbortController();
  const failing = queue.inTurn(signal, () => {
    clock.advance(30);
    throw new Error('syntax error');
  });
  await assert.rejects(failing, /syntax error/);
  const next = queue.inTurn(signal, () => 'planned');
  assert.equal(clock.pending, 1);
  clock.advance(30);
  assert.equal(await next, 'planned');
});
