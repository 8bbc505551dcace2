import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectionIdOf, LiveCollections } from './live-collections.ts';

const ids: [number, string][] = [
  [0, '00'],
  [8, '08'],
  [127, '7f'],
  [128, '8001'],
  [5000, '8827'],
  [0xffffffff, 'ffffffff0f'],
];

test('a collection is found by the id in front of a key, for ids of any length', () => {
  const collections = new LiveCollections();
  collections.apply(ids.map(([id]) => ({ id, maxTtl: 0 })));
  const slots = ids.map(([id, hex]) => {
    const key = Buffer.from(`aa${hex}6b`, 'hex');
    assert.equal(collectionIdOf(key, 1), id);
    return collections.slotOf(key, 1);
  });
  assert.equal(new Set(slots).size, ids.length);
  assert.ok(!slots.includes(-1));
  assert.equal(collections.slotOf(Buffer.from('096b', 'hex'), 0), -1);
  assert.equal(collections.slotOf(Buffer.from('89276b', 'hex'), 0), -1);
});

test('dropped collections are reported, and a new collection begins without the counts of a dropped one', () => {
  const collections = new LiveCollections();
  collections.apply([8, 9, 2000].map((id) => ({ id, maxTtl: 0 })));
  const slot = collections.slotOf(Buffer.from([9]), 0);
  collections.addItems(slot, 0, 5);
  assert.deepEqual(collections.apply([{ id: 8, maxTtl: 0 }]), [9, 2000]);
  assert.equal(collections.slotOf(Buffer.from([9]), 0), -1);
  assert.deepEqual(collections.apply([8, 10, 11].map((id) => ({ id, maxTtl: 0 }))), []);
  assert.deepEqual(
    collections.itemCounts(),
    new Map([
      [8, 0],
      [10, 0],
      [11, 0],
    ]),
  );
});

test('the items of some vbuckets are counted alone, and those of a cleared vbucket not at all', () => {
  const collections = new LiveCollections();
  collections.apply([8, 9].map((id) => ({ id, maxTtl: 0 })));
  const slot = collections.slotOf(Buffer.from([8]), 0);
  for (const [vb, count] of [5, 3, 1].entries()) collections.addItems(slot, vb, count);
  const counts = () => [collections.itemCounts().get(8), collections.itemCountsOf((vb) => vb > 0).get(8)];
  assert.deepEqual(counts(), [9, 4]);
  collections.discardVbucket(1);
  assert.deepEqual(counts(), [6, 1]);
  assert.equal(collections.itemCountsOf(() => true).get(9), 0);
});

test('documents of a collection that the manifest lacks yet count once it is there, if the history has the collection', () => {
  const collections = new LiveCollections();
  collections.isNewer = (_, id) => id !== 9;
  collections.apply([{ id: 8, maxTtl: 0 }]);
  const count = (id: number, change: number): void => {
    const key = Buffer.from([id, 0x6b]);
    collections.noteSeqno(key, 0, 3, 7);
    collections.addItems(collections.countingSlot(key, 0, 3), 3, change);
  };
  for (const id of [9, 10, 11]) count(id, 1);
  count(11, -1);
  assert.equal(collections.slotOf(Buffer.from([10]), 0), -1);
  assert.deepEqual([...collections.itemCounts()], [[8, 0]]);
  assert.deepEqual(collections.apply([8, 12].map((id) => ({ id, maxTtl: 0 }))), []);
  assert.deepEqual(collections.apply([8, 9, 10, 11].map((id) => ({ id, maxTtl: 0 }))), [12]);
  const counted = [9, 10, 11].map((id) => [collections.itemCounts().get(id), collections.highSeqno(id, 3)]);
  assert.deepEqual(counted, [
    [0, 0],
    [1, 7],
    [0, 0],
  ]);
});

test('2,048 collections are accepted, repeatedly, and no more', () => {
  const collections = new LiveCollections();
  const some = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ id: first + i, maxTtl: 0 }));
  for (let round = 0; round < 3; round++) collections.apply(some(8 + round * 5000, 2048));
  assert.throws(() => collections.apply(some(8, 2049)), RangeError);
});
