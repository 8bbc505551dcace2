// Rates from reports of the data service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketReport } from '#kv/admin.ts';
import { aBucketReport, aKvReport } from '../../../test/support/kv-reports.ts';
import { Samples } from './samples.ts';

function someSamples() {
  const samples = new Samples();
  const update = (second: number, changes: Partial<BucketReport>): boolean => {
    const now = { monotonicMs: second * 1000, requestedMs: second * 1000 };
    return samples.update(aKvReport({ buckets: [aBucketReport(changes)], connections: 3 }), now);
  };
  return { samples, update };
}

test('the agent computes rates over sufficient intervals, and never below zero', () => {
  const { samples, update } = someSamples();
  for (let second = 0; second <= 3; second++) update(second, { ops: 10 * second });
  update(3.5, { ops: 5000 });
  assert.equal(samples.measured('u')?.rates.ops, 10);
  update(5, { ops: 0 });
  assert.equal(samples.measured('u')?.rates.ops, 0);
});

test("reports a change of a bucket's state", () => {
  const { samples, update } = someSamples();
  assert.equal(update(0, { state: 'warmup' }), true);
  assert.equal(update(1, { state: 'warmup' }), false);
  assert.equal(update(2, { state: 'ready' }), true);
  assert.equal(samples.connections(), 3);
});

test('a report that was requested earlier but arrives later does not replace a newer report', () => {
  const samples = new Samples();
  const reported = (items: number) => aKvReport({ buckets: [aBucketReport({ items })] });
  samples.updateOne('u', reported(2), { monotonicMs: 20, requestedMs: 15 });
  samples.update(reported(1), { monotonicMs: 25, requestedMs: 10 });
  assert.equal(samples.measured('u')?.items, 2);
  samples.update(reported(3), { monotonicMs: 30, requestedMs: 26 });
  assert.equal(samples.measured('u')?.items, 3);
});

test('a report of one bucket leaves the others as they are', () => {
  const samples = new Samples();
  const bucket = (uuid: string, items: number): BucketReport => aBucketReport({ uuid, name: uuid, items });
  const at = (ms: number) => ({ monotonicMs: ms, requestedMs: ms });
  samples.update(aKvReport({ buckets: [bucket('u', 1), bucket('v', 1)] }), at(0));
  samples.updateOne('u', aKvReport({ buckets: [bucket('u', 2)] }), at(1));
  assert.deepEqual([samples.measured('u')?.items, samples.measured('v')?.items], [2, 1]);
  assert.deepEqual(
    samples
      .report()
      ?.buckets.map(({ uuid }) => uuid)
      .sort(),
    ['u', 'v'],
  );
  samples.updateOne('u', aKvReport({ buckets: [] }), at(2));
  assert.deepEqual([samples.measured('u'), samples.measured('v')?.items], [null, 1]);
});
