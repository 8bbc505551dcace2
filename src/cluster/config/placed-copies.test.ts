// How many copies count for durable writes while the number of copies was changed and no rebalance has placed them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planMap } from '../topology/plan-map.ts';
import type { StoredBucket } from './cluster-state.ts';
import { durabilityCopies, withPlacedCopies, withReplicaNumber } from './placed-copies.ts';

const aBucket = (replicaNumber: number) => ({ uuid: 'b', replicaNumber }) as StoredBucket;
const nodes = ['a', 'b', 'c'].map((id) => ({ id, group: 'g' }));
const mapWith = (replicas: number) => planMap({ nodes, replicas, current: null });

function afterRebalance(bucket: StoredBucket, replicas: number): StoredBucket | undefined {
  const mapped = { bucket, entry: { value: mapWith(replicas) } };
  return withPlacedCopies({ memoryQuotaMb: 1, byUuid: { b: bucket } }, [mapped]).byUuid['b'];
}

test('copies that were added count for durable writes once a rebalance has placed them', () => {
  const raised = withReplicaNumber(withReplicaNumber(aBucket(0), 1), 2);
  assert.deepEqual([raised.replicaNumber, durabilityCopies(raised)], [2, 0]);
  const stopped = afterRebalance(raised, 0);
  assert.equal(stopped, raised);
  const placed = afterRebalance(raised, 2);
  assert.deepEqual(placed, aBucket(2));
  assert.equal(durabilityCopies(placed as StoredBucket), 2);
});

test('copies that were taken away do not count for durable writes', () => {
  const lowered = withReplicaNumber(aBucket(2), 1);
  assert.equal(durabilityCopies(lowered), 1);
  assert.deepEqual(withReplicaNumber(lowered, 2), aBucket(2));
});

test('a bucket that was made on one node counts the copies that it lacks', () => {
  const bucket = aBucket(1);
  assert.equal(afterRebalance(bucket, 0), bucket);
  assert.equal(durabilityCopies(bucket), 1);
});
