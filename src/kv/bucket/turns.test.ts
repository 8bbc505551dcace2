// Work of a bucket that takes milliseconds is divided into turns of the data thread, or counted in them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';

test('a flush lets other work run between its steps over all vbuckets', async () => {
  const b = await new BucketUnderTest().start();
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await b.bucket.flush(2).finally(() => (isDone = true));
  assert.ok(turns >= 3, `${turns} turns`);
});

test('the work of tables of keys that grow counts in the turn of the thread', async () => {
  let workBytes = 0;
  const b = await new BucketUnderTest({ countWork: (bytes) => (workBytes += bytes) }).start();
  workBytes = 0;
  for (let i = 0; i < 100; i++) b.store(`k${i}`, { vb: 3 });
  assert.ok(workBytes >= 100 * 8, `${workBytes} bytes`);
});
