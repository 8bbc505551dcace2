// Rates from reports of the data service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketReport } from '#kv/admin.ts';
import { aBucketReport, aKvReport } from '../../../test/support/kv-reports.ts';
import { Samples } from './samples.ts';

function someSamples() {
  const samples = new Samples();
  const take = (second: number, changes: Partial<BucketReport>): boolean => {
    const now = { monotonicMs: second * 1000 };
    return samples.take(aKvReport({ buckets: [aBucketReport(changes)], connections: 3 }), now);
  };
  return { samples, take };
}

test('computes rates over sufficient intervals, and never below zero', () => {
  const { samples, take } = someSamples();
  for (let second = 0; second <= 3; second++) take(second, { ops: 10 * second });
  take(3.5, { ops: 5000 });
  assert.equal(samples.measured('u')?.rates.ops, 10);
  take(5, { ops: 0 });
  assert.equal(samples.measured('u')?.rates.ops, 0);
});

test("reports a change of a bucket's state", () => {
  const { samples, take } = someSamples();
  assert.equal(take(0, { state: 'warmup' }), true);
  assert.equal(take(1, { state: 'warmup' }), false);
  assert.equal(take(2, { state: 'ready' }), true);
  assert.equal(samples.connections(), 3);
});
