import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadedOnce } from './loaded-once.ts';

test('loadedOnce keeps what it has loaded, and loads again after a failure', async () => {
  let loads = 0;
  const load = loadedOnce(async () => {
    loads++;
    if (loads === 1) throw new Error('too many open files');
    return loads;
  });
  await Promise.all([load(), load()].map((failing) => assert.rejects(failing, /too many open files/)));
  assert.deepEqual([await load(), await load(), loads], [2, 2, 2]);
});
