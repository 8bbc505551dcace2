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

test('memory is no longer wanted for a connection that has ended, while others wait', () => {
  const budget = new InputBudget({ perUser: 10, total: 15 });
  const waiter = () => ({ roomFreed: () => {} });
  assert.ok(budget.reserve('a', 10, waiter()) && budget.reserve('b', 5, waiter()));
  const [ofA, alsoOfA, ofB, ofAll] = [waiter(), waiter(), waiter(), waiter()];
  for (const [user, bytes, each] of [
    ['a', 1, ofA],
    ['a', 1, alsoOfA],
    ['b', 6, ofB],
    ['c', 1, ofAll],
  ] as const)
    assert.ok(!budget.reserve(user, bytes, each));
  const wanted = () => ['a', 'b', 'c'].filter((user) => budget.isWantedFrom(user)).join(' ');
  const shown = [wanted()];
  for (const ended of [ofAll, ofA, alsoOfA, alsoOfA, ofB]) {
    budget.discard(ended);
    shown.push(wanted());
  }
  assert.deepEqual(shown, ['a b c', 'a b', 'a b', 'b', 'b', '']);
});
