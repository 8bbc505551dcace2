import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBucket } from '../../../test/support/data-service.ts';
import { CollectionCounts } from './collection-counts.ts';
import { Collections } from './collections.ts';

/** The manifest of a bucket with the collections `orders` (8) and `carts` (9). */
const { manifest } = aBucket('b');

test('operations are counted by collection, and those of the bucket are their sum', () => {
  const counts = new CollectionCounts();
  counts.countsOf(8).gets += 2;
  counts.countsOf(9).gets += 3;
  counts.countsOf(8).sets++;
  assert.deepEqual([counts.total().gets, counts.total().sets], [5, 1]);
  const { '8': orders, '9': carts } = counts.collections();
  assert.deepEqual([orders?.gets, orders?.sets, carts?.gets], [2, 1, 3]);
});

test('the operations of a dropped collection stay in the sum', () => {
  const counts = new CollectionCounts();
  counts.countsOf(8).gets += 2;
  counts.countsOf(9).gets += 3;
  const scopes = manifest.scopes.filter(({ name }) => name === '_default');
  counts.keepOnly(new Collections({ uid: '3', scopes }));
  assert.deepEqual(counts.collections(), {});
  assert.equal(counts.total().gets, 5);
  counts.countsOf(8).gets++;
  assert.deepEqual(
    [counts.total().gets, counts.collections()['8']?.gets],
    [6, 1],
    'a collection counts from zero, but its operations are added to the former sum',
  );
});
