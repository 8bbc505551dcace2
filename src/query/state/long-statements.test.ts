import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { LongStatements } from './long-statements.ts';

const soon = () => new Promise((resolve) => setImmediate(resolve));

function aQueue(places = 100) {
  const clock = new ManualClock();
  const queue = new LongStatements(clock, () => ({ places, spare: 1 }));
  const planned: (number | string)[] = [];
  const { signal } = new AbortController();
  const plan = async (name: number | string, tookMs: number, { by = signal, user = 'a' } = {}) => {
    const turn = (await queue.enter(user, by)) ?? assert.fail('too many wait');
    turn.run(() => {
      planned.push(name);
      clock.advance(tookMs);
    });
    turn.end();
    return name;
  };
  return { clock, queue, plan, planned, signal };
}

test('a long statement is planned once the thread has been free for as long as the previous one took', async () => {
  const { clock, plan, planned } = aQueue();
  const all = [plan(1, 200), plan(2, 50), plan(3, 10)];
  await soon();
  assert.deepEqual(planned, [1]);
  clock.advance(199);
  await soon();
  assert.deepEqual(planned, [1]);
  clock.advance(1);
  await soon();
  assert.deepEqual(planned, [1, 2]);
  clock.advance(50);
  assert.deepEqual(await Promise.all(all), [1, 2, 3]);
});

test('users take turns', async () => {
  const { plan, planned } = aQueue();
  const ofA = ['a1', 'a2', 'a3'].map((name) => plan(name, 0));
  const ofB = ['b1', 'b2'].map((name) => plan(name, 0, { user: 'b' }));
  await Promise.all([...ofA, ...ofB]);
  assert.deepEqual(planned, ['a1', 'a2', 'b1', 'a3', 'b2']);
});

test('a statement that is cancelled gives its turn to the next statement', async () => {
  const { clock, queue, plan, planned } = aQueue();
  const cancellation = new AbortController();
  const first = plan(1, 100);
  const second = plan(2, 100, { by: cancellation.signal });
  const third = plan(3, 0);
  await first;
  assert.equal(queue.queued, 2);
  cancellation.abort(new Error('cancelled'));
  await assert.rejects(second, /cancelled/);
  clock.advance(100);
  await third;
  assert.deepEqual(planned, [1, 3]);
  assert.equal(queue.queued, 0);
});

test('a turn that is ended twice goes to one waiting statement only', async () => {
  const { queue, plan, planned, signal } = aQueue();
  const turn = await queue.enter('a', signal);
  const next = plan(1, 0);
  turn?.end();
  turn?.end();
  await next;
  await plan(2, 0);
  assert.deepEqual(planned, [1, 2]);
});

test('the number of waiting statements is limited, with room for users who have none waiting', async () => {
  const { queue, signal } = aQueue(1);
  const turn = await queue.enter('a', signal);
  const waiting = queue.enter('a', signal);
  assert.equal(await queue.enter('a', signal), null);
  const other = queue.enter('b', signal);
  turn?.end();
  (await waiting)?.end();
  assert.notEqual(await other, null);
});

test('an error of the parser reaches the caller, and the time until then counts as planning', async () => {
  const { clock, queue, plan, signal } = aQueue();
  const turn = await queue.enter('a', signal);
  const failing = () =>
    turn?.run(() => {
      clock.advance(30);
      throw new Error('syntax error');
    });
  assert.throws(failing, /syntax error/);
  turn?.end();
  const next = plan('planned', 0);
  assert.equal(clock.pending, 1);
  clock.advance(30);
  assert.equal(await next, 'planned');
});
