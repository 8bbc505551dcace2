import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aBucket } from '../../../test/support/data-service.ts';
import { Collections } from './collections.ts';
import { Tally } from './tally.ts';

const { manifest } = aBucket('b');

test('counts by collection, and the bucket as their sum', () => {
  const tally = new Tally();
  tally.countsOf(8).gets += 2;
  tally.countsOf(9).gets += 3;
  tally.countsOf(8).sets++;
  assert.deepEqual([tally.total().gets, tally.total().sets], [5, 1]);
  const { '8': orders, '9': carts } = tally.collections();
  assert.deepEqual([orders?.gets, orders?.sets, carts?.gets], [2, 1, 3]);
});

test('keeps the operations of a dropped collection in the sum', () => {
  const tally = new Tally();
  tally.countsOf(8).gets += 2;
  tally.countsOf(9).gets += 3;
  const [first] = manifest.scopes;
  tally.keepOnly(new Collections({ uid: '3', scopes: first ? [first] : [] }));
  assert.deepEqual(tally.collections(), {});
  assert.equal(tally.total().gets, 5);
  tally.countsOf(8).gets++;
  assert.deepEqual(
    [tally.total().gets, tally.collections()['8']?.gets],
    [6, 1],
    'counted separately from the old one',
  );
});
