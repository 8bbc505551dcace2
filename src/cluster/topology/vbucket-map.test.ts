import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vbucketCount } from '#client/document-key.ts';
import type { BucketMap } from '../config/cluster-state.ts';
import { mapOnOneNode, mappedText, vbucketMapOf } from './vbucket-map.ts';

const nodeIds = ['one'];

test('one node holds every vbucket, and no replica of it', () => {
  for (const [replicas, row] of [
    [0, [0]],
    [2, [0, -1, -1]],
  ] as const) {
    const map = vbucketMapOf(mapOnOneNode('one'), nodeIds, replicas);
    assert.equal(map.length, vbucketCount);
    assert.ok(map.every((nodes) => JSON.stringify(nodes) === JSON.stringify(row)));
    assert.equal(vbucketMapOf(mapOnOneNode('one'), nodeIds, replicas), map, 'equal maps are one object');
  }
});

test('the rows of a map of several nodes have the positions of the nodes in the configuration', () => {
  const shards = Array.from({ length: 64 }, (_, shard) => ({
    epoch: shard,
    chain: [shard % 2, 1 - (shard % 2)],
  }));
  const map: BucketMap = { nodes: ['one', 'two'], shards };
  const rows = vbucketMapOf(map, ['two', 'three', 'one'], 1);
  assert.deepEqual(
    [rows[0], rows[1], rows[64], rows[1023]],
    [
      [2, 0],
      [0, 2],
      [2, 0],
      [0, 2],
    ],
  );
  assert.deepEqual(vbucketMapOf(map, ['one'], 1)[1], [-1, 0], 'a node that is no longer in the cluster');
});

test('serializes a record and its map like JSON.stringify, with any texts', () => {
  const odd = ['"vBucketMap":null', '\\"vBucketMap\\":null', 'vBucketMap', '$&', "$'"];
  for (const text of odd) {
    const record = {
      [text]: text,
      vBucketServerMap: {
        numReplicas: 1,
        vBucketMap: vbucketMapOf(mapOnOneNode('one'), nodeIds, 1),
        serverList: [text],
      },
      after: { vBucketMap: text },
    };
    assert.equal(mappedText(record), JSON.stringify(record));
  }
  const unmapped = { name: 'a', vBucketMap: null };
  assert.equal(mappedText(unmapped), JSON.stringify(unmapped));
});
