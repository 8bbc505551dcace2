// The order in which a disk lane takes its requests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeNext } from './lane-queue.ts';
import type { LaneRequest } from './messages.ts';

const commit = (id: number, kilobytes: number): LaneRequest => ({
  id,
  operation: 'commit',
  args: ['bucket', id % 4, new Uint8Array(kilobytes * 1024), false],
});
const other = (id: number): LaneRequest => ({ id, operation: 'drop', args: ['bucket', 0, []] });

function orderOf(requests: readonly LaneRequest[]): number[] {
  const queue = [...requests];
  const order: number[] = [];
  for (let next = takeNext(queue); next !== undefined; next = takeNext(queue)) order.push(next.id);
  return order;
}

test('small commits are taken before large ones, and nothing else changes its place', () => {
  assert.deepEqual(orderOf([commit(1, 1_000), commit(2, 1_000), commit(3, 1), commit(4, 2)]), [3, 4, 1, 2]);
  assert.deepEqual(orderOf([commit(1, 1_000), other(2), commit(3, 1)]), [1, 2, 3]);
  assert.deepEqual(orderOf([commit(1, 1), commit(2, 1_000), other(3), commit(4, 1)]), [1, 2, 3, 4]);
  assert.deepEqual(orderOf([]), []);
});

test('a large commit is overtaken by eight other requests', () => {
  const small = Array.from({ length: 10 }, (_, i) => commit(i + 1, 1));
  assert.deepEqual(orderOf([commit(0, 1_000), ...small]), [1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 10]);
});
