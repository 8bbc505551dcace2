import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cachedDataVersionTag } from 'node:v8';
import { raiseInliningBudget } from './inlining.ts';

test('the inlining budget of V8 is raised once', () => {
  // The tag changes with the flags of V8.
  const before = cachedDataVersionTag();
  raiseInliningBudget();
  const after = cachedDataVersionTag();
  assert.notEqual(after, before);
  raiseInliningBudget();
  assert.equal(cachedDataVersionTag(), after);
});
