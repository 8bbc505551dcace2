import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mappedText, singleNodeMap, vbucketCount } from './vbucket-map.ts';

test('one node holds every vbucket, and no replica of it', () => {
  for (const [replicas, row] of [
    [0, [0]],
    [2, [0, -1, -1]],
  ] as const) {
    const map = singleNodeMap(replicas);
    assert.equal(map.length, vbucketCount);
    assert.ok(map.every((one) => JSON.stringify(one) === JSON.stringify(row)));
    assert.equal(singleNodeMap(replicas), map);
  }
});

test('serializes a record and its map like JSON.stringify, with any texts', () => {
  const odd = ['"vBucketMap":null', '\\"vBucketMap\\":null', 'vBucketMap', '$&', "$'"];
  for (const text of odd) {
    const record = {
      [text]: text,
      vBucketServerMap: { numReplicas: 1, vBucketMap: singleNodeMap(1), serverList: [text] },
      after: { vBucketMap: text },
    };
    assert.equal(mappedText(record), JSON.stringify(record));
  }
  const unmapped = { name: 'a', vBucketMap: null };
  assert.equal(mappedText(unmapped), JSON.stringify(unmapped));
});
