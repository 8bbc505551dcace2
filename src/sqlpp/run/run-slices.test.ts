import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RunSlices } from './run-slices.ts';

test('a repeated evaluation of one row does not postpone the pauses of the next row', () => {
  let nowMs = 0;
  const context = { monotonicMs: () => nowMs, pause: async () => {}, signal: new AbortController().signal };
  const slices = new RunSlices(context, undefined);
  slices.evaluatesAgain();
  nowMs = 50;
  slices.resumed();
  nowMs = 57;
  assert.equal(slices.isPauseDue, false, '50 ms were evaluated again before the 7 ms of work');
  slices.rowEnded();
  assert.equal(slices.isPauseDue, true);
});
