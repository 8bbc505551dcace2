import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InputBudget } from './input-budget.ts';

test('the memory of each user and of all is limited, and waiting connections are notified when memory is released', () => {
  const budget = new InputBudget({ perUser: 10, total: 15 });
  const notified: string[] = [];
  const waiting = (name: string) => ({ roomFreed: () => void notified.push(name) });
  assert.ok(budget.reserve('a', 10, waiting('a1')));
  assert.ok(!budget.reserve('a', 1, waiting('a2')));
  assert.ok(!budget.reserve('b', 6, waiting('b1')));
  const removedWaiter = waiting('gone');
  assert.ok(!budget.reserve('b', 6, removedWaiter));
  budget.discard(removedWaiter);
  assert.ok(budget.reserve('b', 5, waiting('b2')));
  assert.deepEqual(notified, []);
  budget.release('a', 10);
  assert.deepEqual(notified, ['a2', 'b1']);
  assert.equal(budget.bytes, 5);
  assert.ok(budget.reserve('a', 10, waiting('a3')));
});
