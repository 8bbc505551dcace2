import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestEnd } from './request-end.ts';

test('the end of a request aborts its signal, also one that is asked for later', () => {
  const [early, late] = [new RequestEnd(), new RequestEnd()];
  const { signal } = early;
  assert.deepEqual([early.isOver, signal.aborted], [false, false]);
  for (const end of [early, late]) end.end();
  assert.deepEqual([early.isOver, signal.aborted, late.signal.aborted], [true, true, true]);
  assert.equal(late.signal.reason, signal.reason);
  assert.equal(signal.reason.name, 'AbortError');
});
