import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VbucketState } from '../data/vbucket-state.ts';
import { VbucketColumns } from '../vbucket/columns.ts';
import { shardPositions } from './shard-positions.ts';

test('the position of a shard that has a copy here is the sum of the seqnos of its vbuckets', () => {
  const columns = new VbucketColumns(4);
  columns.highSeqno.set([10, 20, 3, 4]);
  columns.epoch.set([2, 5, 1, 5]);
  assert.deepEqual(shardPositions(columns, 2), [
    { epoch: 1, seqno: 13 },
    { epoch: 5, seqno: 24 },
  ]);
  columns.state[3] = VbucketState.dead;
  assert.deepEqual(shardPositions(columns, 2)[1], null);
  assert.deepEqual(shardPositions(columns, 0), []);
});
