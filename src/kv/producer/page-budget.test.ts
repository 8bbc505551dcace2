// How many pages a connection reads ahead.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backfillPageBytes } from '../data/disk-engine.ts';
import { PageBudget, smallPageBytes } from './page-budget.ts';

const takeAll = (budget: PageBudget): number[] => {
  const taken: number[] = [];
  for (let bytes = budget.reserve(); bytes > 0; bytes = budget.reserve()) taken.push(bytes);
  return taken;
};

test('many small pages are read ahead while vbuckets are small, otherwise few large ones of the same total size', () => {
  const budget = new PageBudget();
  const small = takeAll(budget);
  assert.deepEqual(new Set(small), new Set([smallPageBytes]));
  // A page that is larger than a small one, and not the last of its vbucket.
  budget.count(smallPageBytes + 100, false);
  for (const bytes of small) {
    assert.ok(budget.free <= 4);
    budget.giveBack(bytes);
  }
  const large = takeAll(budget);
  assert.deepEqual(large, Array(4).fill(backfillPageBytes));
  assert.equal(small.length * smallPageBytes, large.length * backfillPageBytes);
  // Four vbuckets that each fit in a small page: small pages are read again.
  for (let n = 0; n < 4; n++) {
    assert.equal(budget.free, 0);
    budget.count(1000, true);
  }
  for (const bytes of large) budget.giveBack(bytes);
  assert.deepEqual([budget.pages, takeAll(budget)], [0, small]);
});

test('large documents count by their size, and at most four pages of them are held', () => {
  const budget = new PageBudget();
  const held: number[] = [];
  while (budget.free > 0) held.push(budget.hold(budget.reserve(), 20 << 20));
  assert.equal(held.length, 4);
  budget.giveBack(held.pop() as number);
  assert.equal(budget.free, 1);
});
