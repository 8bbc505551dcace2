import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardPlacement, StoredBucket } from '../config/cluster-state.ts';
import { replicationOf } from './node-record.ts';

test('the replication of a bucket is the share of its replicas that are in sync', () => {
  const placement = (...boots: string[]): ShardPlacement => ({
    epoch: 1,
    chain: boots.map((_, node) => node),
    ...(boots.length > 0 && { inSync: boots.map((boot, node) => [node, boot] as const) }),
  });
  const shares = (replicaNumber: number, ...shards: ShardPlacement[]): number =>
    replicationOf({ replicaNumber } as StoredBucket, { nodes: ['a', 'b', 'c'], shards });
  assert.equal(shares(0, placement()), 1);
  assert.equal(shares(1, placement(), placement('x')), 0, 'a shard without copies counts as replicated');
  assert.equal(shares(1, placement('x', 'y'), placement('x')), 0.5);
  assert.equal(shares(2, placement('x', 'y', 'z'), placement('x', 'y')), 0.75);
  assert.equal(shares(1, placement('x', 'y', 'z')), 1, 'copies beyond the configured number do not count');
});
