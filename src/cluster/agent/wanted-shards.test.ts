import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapOnOneNode } from '../topology/vbucket-map.ts';
import { wantedShards } from './wanted-shards.ts';

test('a node serves only the shards for which the map names it active or replica', () => {
  const shards = [
    { epoch: 4, chain: [0, 1] },
    { epoch: 7, chain: [1, 0] },
    { epoch: 1, chain: [1, -1] },
    { epoch: 2, chain: [-1, -1] },
  ];
  const map = { nodes: ['one', 'two'], shards };
  assert.deepEqual(wantedShards(map, 'one'), [
    { state: 'active', epoch: 4, replicas: ['two'], active: 'one' },
    { state: 'replica', epoch: 7, replicas: ['one'], active: 'two' },
    { state: 'dead', epoch: 1, replicas: [], active: 'two' },
    { state: 'dead', epoch: 2, replicas: [] },
  ]);
  assert.ok(wantedShards(map, 'three').every(({ state }) => state === 'dead'));
});

test('a node serves every shard of a bucket that no other node has', () => {
  const wanted = wantedShards(mapOnOneNode('one'), 'one');
  assert.equal(wanted.length, 64);
  assert.ok(wanted.every((shard) => shard === wanted[0] && shard.state === 'active'));
});

test('a shard names its last active, unless a node of an older version may have confirmed since', () => {
  const lastActive = { node: 'two', epoch: 4 };
  const ofEpoch = { epoch: 5, chain: [0, 1], lastActive };
  // From `stopped` on, a node of an older version may have confirmed, which leaves `lastActive` unchanged: that node stopped, was replaced by a
  // promoted one, was failed over, or still serves.
  const stopped = { ...ofEpoch, stopped: 5 };
  const shards = [
    ofEpoch,
    { ...ofEpoch, stopped: 4 },
    { ...ofEpoch, epoch: 4, stopped: 4 },
    stopped,
    { ...stopped, epoch: 6 },
    { ...ofEpoch, epoch: 6 },
    { ...ofEpoch, confirmed: 'b' },
    // The disk of the active may lack what node `two` has on its disk.
    { ...ofEpoch, epoch: 4, confirmed: 'b' },
    // A number: a version that was never released stored the position of the node in `nodes`.
    { ...ofEpoch, lastActive: 1 as unknown as typeof lastActive },
  ];
  const named = wantedShards({ nodes: ['one', 'two'], shards }, 'one').map((shard) => shard.lastActive);
  assert.deepEqual(named, ['two', 'two', 'two', ...Array(4).fill(undefined), 'two', undefined]);
});

test('a shard names its in-sync set, the boot that confirmed it, and the nodes that get a copy', () => {
  const inSync = [
    [1, 'b1'],
    [0, 'b0'],
  ] as const;
  const placement = { epoch: 3, chain: [1, -1], incoming: [0], confirmed: 'b1', stopped: 2, inSync };
  assert.deepEqual(wantedShards({ nodes: ['one', 'two'], shards: [placement] }, 'one'), [
    {
      state: 'replica',
      epoch: 3,
      replicas: ['one'],
      active: 'two',
      confirmed: 'b1',
      stopped: 2,
      inSync: [
        { node: 'two', boot: 'b1' },
        { node: 'one', boot: 'b0' },
      ],
    },
  ]);
});

test('a shard names the node to which the active hands it over', () => {
  const placement = { epoch: 3, chain: [0], incoming: [1], successor: 1 };
  const [wanted] = wantedShards({ nodes: ['one', 'two'], shards: [placement] }, 'one');
  assert.equal(wanted?.successor, 'two');
});
