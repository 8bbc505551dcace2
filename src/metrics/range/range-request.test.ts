import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ParseResult, type RangeRequest, readItem, readPathRequest } from './range-request.ts';

const problemsOf = (read: ParseResult<RangeRequest>) => ('problems' in read ? read.problems : null);
const name = { label: 'name', value: 'kv_ops' };
const labels = (count: number, label: object = { label: 'bucket', value: 'b' }) =>
  Array.from({ length: count }, () => label);

test('the labels of a request are bounded: each of them is compared with each series', () => {
  const pattern = { label: 'bucket', operator: '!~', value: '.*.*x' };
  const any = (count: number) => ({ label: 'bucket', operator: 'any', value: Array(count).fill('b') });
  for (const [metric, problem] of [
    [[name, ...labels(49)], undefined],
    [[name, ...labels(50)], 'must have at most 50 labels'],
    [[name, ...labels(8, pattern)], undefined],
    [[name, ...labels(9, pattern)], 'must have at most 8 labels with patterns or lists'],
    [[name, any(1_000)], undefined],
    [[name, any(1_001)], 'label value for bucket must have at most 1000 strings'],
  ] as const)
    assert.equal(problemsOf(readItem({ metric }, 0))?.['metric'], problem);
});

test('the labels in the query of a request are bounded as well', () => {
  const query = (count: number) => Object.fromEntries(labels(count).map((_, n) => [`label${n}`, '']));
  assert.equal(problemsOf(readPathRequest('kv_ops', [], query(49), 0)), null);
  assert.deepEqual(problemsOf(readPathRequest('kv_ops', [], query(50), 0)), {
    _: 'must have at most 50 labels',
  });
});
