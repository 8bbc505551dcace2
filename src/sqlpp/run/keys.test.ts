import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../values/value.ts';
import { groupKey, RowKeys } from './keys.ts';

test('a large key is computed once for rows with the same values, other keys for each row', () => {
  let computed = 0;
  const keys = new RowKeys((values) => {
    computed++;
    return groupKey(values);
  });
  const countOf = (values: readonly Value[]): number => {
    const before = computed;
    assert.ok(keys.of(values) === groupKey(values));
    return computed - before;
  };
  const list = Array.from({ length: 40_000 }, (_, at) => at);
  const rows: [readonly Value[], number][] = [
    [['a'], 1],
    [['a'], 1],
    [[list], 1],
    [[list], 0],
    [['a'], 1],
    [[list], 0],
    [[list, 1], 1],
    [[list, 1], 0],
    [[list, 2], 1],
    [[{ list, a: 1 }], 1],
    [[{ a: 1, list }], 0],
    [[{ list, a: 2 }], 1],
    [[{ list }], 1],
    [[{ list, b: undefined }], 1],
    [[{ list, a: undefined }], 1],
    [[[list]], 1],
    [[[list]], 1],
    [[null], 1],
    [[], 1],
  ];
  for (const [values, expected] of rows) assert.equal(countOf(values), expected);
});
