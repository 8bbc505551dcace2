import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BucketMap } from '../config/cluster-state.ts';
import { isBalancedMap } from './balanced-map.ts';
import { planMap } from './plan-map.ts';

const mapOf = (ids: string, replicas: number, current: BucketMap | null = null): BucketMap =>
  planMap({ nodes: [...ids].map((id) => ({ id, group: 'g' })), replicas, current });

/** The map with the chain of its second shard changed. */
const changed = (map: BucketMap, change: (chain: readonly number[]) => readonly number[]): BucketMap => ({
  ...map,
  shards: map.shards.map((shard, index) => (index === 1 ? { ...shard, chain: change(shard.chain) } : shard)),
});

describe('a balanced map', () => {
  it('is every planned one, with any number of nodes and replicas', () => {
    for (const ids of ['a', 'ab', 'abc', 'abcde'])
      for (const replicas of [0, 1, 2, 3])
        assert.equal(isBalancedMap(mapOf(ids, replicas), [...ids], replicas), true, `${ids} ${replicas}`);
  });

  it('has all copies of every shard', () => {
    const map = mapOf('abc', 2);
    assert.equal(
      isBalancedMap(
        changed(map, ([active = -1, first = -1]) => [active, first, -1]),
        [...'abc'],
        2,
      ),
      false,
    );
  });

  it('has as many replicas as the bucket is to have', () => {
    assert.equal(isBalancedMap(mapOf('abc', 2), [...'abc'], 1), false);
    assert.equal(isBalancedMap(mapOf('ab', 1), [...'ab'], 2), false);
  });

  it('is on all data nodes and on no other', () => {
    assert.equal(isBalancedMap(mapOf('ab', 1), [...'abc'], 1), false);
    assert.equal(isBalancedMap(mapOf('abc', 1), [...'ab'], 1), false);
    assert.equal(isBalancedMap(mapOf('abc', 2), [...'abd'], 2), false);
  });

  it('may have no active on a node that was killed and restarted', () => {
    const map = mapOf('abc', 1);
    const promoted = map.shards.map((shard) => ({ ...shard, chain: shard.chain.toSorted((a, b) => a - b) }));
    assert.ok(promoted.every(({ chain }) => chain[0] !== 2));
    assert.equal(isBalancedMap({ ...map, shards: promoted }, [...'abc'], 1), true);
  });
});
