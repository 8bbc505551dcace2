// How the turns of the data thread are divided. The clock advances only where a task spends time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SteppedClock } from '../../test/support/stepped-clock.ts';
import { TurnClock, turnLimits } from './turn-clock.ts';

const { taskMs, tasksMs, turnMs, workBytes } = turnLimits;

test('deferred tasks run in order, as many in a turn as there is time for', async () => {
  const clock = new SteppedClock();
  const turns = new TurnClock(clock);
  const ran: number[] = [];
  for (let task = 0; task < 10; task++)
    turns.soon(() => {
      ran.push(task);
      clock.spend(turnMs / 2);
    });
  const perTurn: number[] = [];
  while (ran.length < 10) {
    const before = ran.length;
    await clock.turn();
    perTurn.push(ran.length - before);
  }
  assert.deepEqual(ran, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(perTurn, [2, 2, 2, 2, 2]);
});

test('a task that another task defers runs in a later turn, after the tasks that wait', async () => {
  const clock = new SteppedClock();
  const turns = new TurnClock(clock);
  const ran: string[] = [];
  const again = (name: string) => (): void => {
    ran.push(name);
    clock.spend(turnMs);
    if (ran.length < 6) turns.soon(again(name));
  };
  turns.soon(again('a'));
  turns.soon(again('b'));
  for (let turn = 0; turn < 6; turn++) await clock.turn();
  assert.deepEqual(ran, ['a', 'b', 'a', 'b', 'a', 'b']);
});

test('the continuation of a promise that a task resolves counts towards the turn of the task', async () => {
  const clock = new SteppedClock();
  const turns = new TurnClock(clock);
  let ran = 0;
  const slice = async (): Promise<void> => {
    await new Promise<void>((resolve) => turns.soon(resolve));
    ran++;
    clock.spend(turnMs);
  };
  const slices = [slice(), slice(), slice()];
  await clock.turn();
  assert.equal(ran, 1);
  await clock.turn();
  await clock.turn();
  await Promise.all(slices);
});

test('requests that arrive share the time of the turn, and leave some of it to deferred tasks', async () => {
  const clock = new SteppedClock();
  const turns = new TurnClock(clock);
  let requests = 0;
  while (!turns.isOver && requests < 1000) {
    requests++;
    clock.spend(1);
    turns.countWork(workBytes + 1);
  }
  // The time begins with the first reading of the clock.
  assert.equal(requests, turnMs + 1);
  let tasks = 0;
  for (let task = 0; task < 10; task++)
    turns.soon(() => {
      tasks++;
      clock.spend(1);
    });
  await clock.turn();
  assert.equal(tasks, tasksMs);
  assert.equal(turns.isOver, false);
});

test('a task ends after its time while others wait, and has the rest of the turn if none waits', async () => {
  const clock = new SteppedClock();
  const turns = new TurnClock(clock);
  const steps: number[] = [];
  const task = (): void => {
    let done = 0;
    do {
      done++;
      clock.spend(taskMs);
      turns.countWork(workBytes + 1);
    } while (!turns.isOver);
    steps.push(done);
  };
  turns.soon(task);
  turns.soon(task);
  await clock.turn();
  assert.deepEqual(steps, [1, turnMs / taskMs - 1]);
});
