import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { VbucketColumns } from './columns.ts';
import { Now } from './now.ts';
import { checkState, servedState } from './serving.ts';

const { success, temporaryFailure, notMyVbucket } = Status;

test('a vbucket is served until its time is over', () => {
  const now = new Now();
  const columns = new VbucketColumns(2);
  now.set(1_000_000, 500);
  assert.equal(checkState(columns, 0, now, VbucketState.active), temporaryFailure, 'nothing is loaded');
  columns.servedUntilMs.fill(Infinity);
  columns.servedUntilMs[0] = 600;
  now.set(1_000_099, 599.9);
  assert.deepEqual(
    [checkState(columns, 0, now, VbucketState.active), servedState(columns, 0, now)],
    [success, VbucketState.active],
  );
  now.set(1_000_100, 600);
  assert.deepEqual(
    [checkState(columns, 0, now, VbucketState.active), servedState(columns, 0, now)],
    [temporaryFailure, VbucketState.dead],
  );
  assert.equal(checkState(columns, 1, now, VbucketState.active), success);
});

test('a vbucket accepts only the requests that are for its state', () => {
  const now = new Now();
  const columns = new VbucketColumns(1);
  columns.servedUntilMs.fill(Infinity);
  for (const [state, active, replica] of [
    [VbucketState.active, success, notMyVbucket],
    [VbucketState.replica, notMyVbucket, success],
    [VbucketState.pending, notMyVbucket, notMyVbucket],
    [VbucketState.dead, notMyVbucket, notMyVbucket],
  ] as const) {
    columns.state[0] = state;
    assert.deepEqual(
      [checkState(columns, 0, now, VbucketState.active), checkState(columns, 0, now, VbucketState.replica)],
      [active, replica],
    );
  }
  assert.deepEqual(
    [checkState(columns, 1, now, VbucketState.active), servedState(columns, 1, now)],
    [notMyVbucket, VbucketState.dead],
  );
});
