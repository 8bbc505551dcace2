import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { RunningRemovals } from './running-removals.ts';

test('the end of a removal does not hide a later one of the same vbucket', async () => {
  const removals = new RunningRemovals();
  const [first, second] = [deferred<void>(), deferred<void>()];
  const firstNoted = removals.note([1, 2], first.promise);
  const secondNoted = removals.note([2], second.promise);
  first.resolve();
  await firstNoted;
  assert.equal(removals.endOf([1]), null);
  assert.notEqual(removals.endOf([1, 2]), null);
  second.resolve();
  await secondNoted;
  assert.equal(removals.endOf([1, 2]), null);
});
