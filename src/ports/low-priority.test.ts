// The tests of a file have a process of their own, whose priority they lower.
import assert from 'node:assert/strict';
import { getPriority, setPriority } from 'node:os';
import { test } from 'node:test';
import { lowerPriority } from './low-priority.ts';

test('the priority of a thread is lowered, and one that is lower is not raised', (context) => {
  if (process.platform !== 'linux') return context.skip('a thread has a priority of its own on Linux only');
  const before = getPriority();
  lowerPriority();
  assert.equal(getPriority(), Math.max(before, 10));
  setPriority(15);
  lowerPriority();
  assert.equal(getPriority(), 15);
});
