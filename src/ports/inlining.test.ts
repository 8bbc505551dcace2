import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cachedDataVersionTag } from 'node:v8';
import { inlineMore } from './inlining.ts';

test('the inlining budget of V8 is raised once', () => {
  const before = cachedDataVersionTag();
  inlineMore();
  const after = cachedDataVersionTag();
  assert.notEqual(after, before);
  inlineMore();
  assert.equal(cachedDataVersionTag(), after);
});
