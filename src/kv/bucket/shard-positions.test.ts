import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VbucketState } from '../data/vbucket-state.ts';
import { VbucketRows } from '../vbucket/rows.ts';
import { shardPositions } from './shard-positions.ts';

test('adds the seqnos of the vbuckets of each shard that has a copy here', () => {
  const rows = new VbucketRows(4);
  rows.highSeqno.set([10, 20, 3, 4]);
  rows.epoch.set([2, 5, 1, 5]);
  assert.deepEqual(shardPositions(rows, 2), [
    { epoch: 1, seqno: 13 },
    { epoch: 5, seqno: 24 },
  ]);
  rows.state[3] = VbucketState.dead;
  assert.deepEqual(shardPositions(rows, 2)[1], null);
  assert.deepEqual(shardPositions(rows, 0), []);
});
