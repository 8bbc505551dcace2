import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parametersOf } from './parameter-values.ts';

const request = (positional: readonly number[], named: Record<string, number>) =>
  ({ positional, named: new Map(Object.entries(named)) }) as unknown as Parameters<typeof parametersOf>[0];

test('EXECUTE takes parameter values from USING or from the request', () => {
  const plain = { a: 1 };
  assert.deepEqual(parametersOf(request([1], {}), undefined).positional, [1]);
  assert.deepEqual(parametersOf(request([], {}), [2]).positional, [2]);
  assert.deepEqual([...parametersOf(request([], {}), plain).named], [['a', 1]]);
});

test('EXECUTE refuses values of USING and of the request together', () => {
  const refusal = { code: 5003, message: /cannot have both USING clause and request parameters/ };
  assert.throws(() => parametersOf(request([1], {}), [2]), refusal);
  assert.throws(() => parametersOf(request([], { a: 1 }), [2]), refusal);
  assert.throws(() => parametersOf(request([], {}), 1), { code: 5003 });
});
