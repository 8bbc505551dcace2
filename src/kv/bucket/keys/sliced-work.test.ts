// Work in slices: how much of it one turn of the event loop gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { SlicedWork } from './sliced-work.ts';

test('of many callers that wait for a turn, each turn serves a few, in their order', async () => {
  const soon: (() => void)[] = [];
  const work = new SlicedWork({ soon: (callback) => void soon.push(callback) });
  const served: number[] = [];
  for (let caller = 0; caller < 10; caller++) void work.turn().then(() => served.push(caller));
  const perTurn: number[] = [];
  for (let callback = soon.shift(); callback !== undefined; callback = soon.shift()) {
    const before = served.length;
    callback();
    await setImmediate();
    perTurn.push(served.length - before);
  }
  assert.deepEqual(perTurn, [2, 2, 2, 2, 2]);
  assert.deepEqual(served, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  void work.turn().then(() => served.push(10));
  soon.shift()?.();
  await setImmediate();
  assert.equal(served.at(-1), 10);
});
