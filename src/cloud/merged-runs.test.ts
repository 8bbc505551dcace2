import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { MergedRuns } from './merged-runs.ts';

test('all requests that come during a run are served by one more run, separately for each key', async () => {
  const runs = new MergedRuns();
  const gate = deferred<void>();
  const begun: string[] = [];
  const work = (name: string) => async () => {
    begun.push(name);
    await gate.promise;
  };
  const first = runs.run('a', work('first'));
  const others = Array.from({ length: 200 }, (_, at) => runs.run('a', work(`later ${at}`)));
  const elsewhere = runs.run('b', work('b'));
  assert.deepEqual(begun, ['first', 'b']);
  gate.resolve();
  await Promise.all([first, ...others, elsewhere]);
  assert.deepEqual(begun, ['first', 'b', 'later 0']);
  await runs.run('a', work('again'));
  assert.equal(begun.at(-1), 'again');
});

test('a failed run rejects every request that waits for it, and later requests have another run', async () => {
  const runs = new MergedRuns();
  const fail = async () => {
    throw new Error('no');
  };
  const [first, second, third] = await Promise.allSettled([
    runs.run('a', fail),
    runs.run('a', fail),
    runs.run('a', fail),
  ]);
  assert.deepEqual([first.status, second.status, third.status], ['rejected', 'rejected', 'rejected']);
  await runs.run('a', async () => {});
});
