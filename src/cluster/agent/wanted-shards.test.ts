import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapOnOneNode } from '../topology/vbucket-map.ts';
import { wantedShards } from './wanted-shards.ts';

test('a node serves the shards that the map gives it, each in its place', () => {
  const shards = [
    { epoch: 4, chain: [0, 1] },
    { epoch: 7, chain: [1, 0] },
    { epoch: 1, chain: [1, -1] },
  ];
  const map = { nodes: ['one', 'two'], shards };
  assert.deepEqual(wantedShards(map, 'one'), [
    { state: 'active', epoch: 4, replicas: ['two'] },
    { state: 'replica', epoch: 7, replicas: ['one'] },
    { state: 'dead', epoch: 1, replicas: [] },
  ]);
  assert.ok(wantedShards(map, 'three').every(({ state }) => state === 'dead'));
});

test('a node serves every shard of a bucket that is on it alone', () => {
  const wanted = wantedShards(mapOnOneNode('one'), 'one');
  assert.equal(wanted.length, 64);
  assert.ok(wanted.every((shard) => shard === wanted[0] && shard.state === 'active'));
});
