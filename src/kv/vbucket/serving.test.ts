import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { Now } from './now.ts';
import { VbucketRows } from './rows.ts';
import { checkState, servedState } from './serving.ts';

const { success, temporaryFailure, notMyVbucket } = Status;

test('serves a vbucket until its time is over', () => {
  const now = new Now();
  const rows = new VbucketRows(2);
  now.set(1_000_000, 500);
  assert.equal(checkState(rows, 0, now, VbucketState.active), temporaryFailure, 'nothing is loaded');
  rows.servedUntilMs.fill(Infinity);
  rows.servedUntilMs[0] = 600;
  now.set(1_000_099, 599.9);
  assert.deepEqual(
    [checkState(rows, 0, now, VbucketState.active), servedState(rows, 0, now)],
    [success, VbucketState.active],
  );
  now.set(1_000_100, 600);
  assert.deepEqual(
    [checkState(rows, 0, now, VbucketState.active), servedState(rows, 0, now)],
    [temporaryFailure, VbucketState.dead],
  );
  assert.equal(checkState(rows, 1, now, VbucketState.active), success);
});

test('each state answers its own requests', () => {
  const now = new Now();
  const rows = new VbucketRows(1);
  rows.servedUntilMs.fill(Infinity);
  for (const [state, active, replica] of [
    [VbucketState.active, success, notMyVbucket],
    [VbucketState.replica, notMyVbucket, success],
    [VbucketState.pending, notMyVbucket, notMyVbucket],
    [VbucketState.dead, notMyVbucket, notMyVbucket],
  ] as const) {
    rows.state[0] = state;
    assert.deepEqual(
      [checkState(rows, 0, now, VbucketState.active), checkState(rows, 0, now, VbucketState.replica)],
      [active, replica],
    );
  }
  assert.deepEqual(
    [checkState(rows, 1, now, VbucketState.active), servedState(rows, 1, now)],
    [notMyVbucket, VbucketState.dead],
  );
});
