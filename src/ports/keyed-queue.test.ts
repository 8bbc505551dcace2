import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { KeyedQueue } from './keyed-queue.ts';

test('the work of one key runs in order, also after a failure, and that of other keys concurrently', async () => {
  const queue = new KeyedQueue();
  const gate = deferred<void>();
  const done: string[] = [];
  const first = queue.run('a', () => gate.promise.then(() => Promise.reject(new Error('first'))));
  const second = queue.run('a', async () => done.push('second'));
  await queue.run('b', async () => done.push('other'));
  assert.deepEqual(done, ['other']);
  gate.resolve();
  await assert.rejects(first, /first/);
  await second;
  assert.deepEqual(done, ['other', 'second']);
});
