import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactJson, isRawJson, jsonWithExactIntegers } from './exact-json.ts';

test('exact JSON writes numbers with the digits that they had in the text', () => {
  const text = '{"a":1.0,"b":[9007199254740993,-1e400]}';
  assert.equal(JSON.stringify(exactJson(text)), text);
});

test('exact JSON keeps the digits of whole numbers beyond 2^53 and of numbers beyond a double, and makes numbers of all others', () => {
  const digits = '1'.repeat(400);
  const text = `{"safe":9007199254740991,"large":-9007199254740993,"huge":${digits},"half":1.50}`;
  const value = jsonWithExactIntegers(text) as Record<string, unknown>;
  assert.deepEqual([value['safe'], value['half']], [9007199254740991, 1.5]);
  assert.ok(isRawJson(value['large']));
  assert.equal(JSON.stringify(value), text.replace('1.50', '1.5'));
});
