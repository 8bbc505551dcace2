// Rates and the last minute of figures from reports of the data service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketReport } from '#kv/admin.ts';
import { aBucketReport, aKvReport } from '../../../test/support/kv-reports.ts';
import { Samples } from './samples.ts';

function taker() {
  const samples = new Samples();
  const take = (second: number, changes: Partial<BucketReport>): boolean => {
    const now = { monotonicMs: second * 1000, wallMs: 5_000_000 + second * 1000 };
    return samples.take(aKvReport({ buckets: [aBucketReport(changes)], connections: 3 }), now);
  };
  return { samples, take };
}

test('counts what replication asked for and wrote as operations of it', () => {
  const { samples, take } = taker();
  take(0, {});
  take(2, { metaGets: 10, metaSets: 20, metaDeletes: 4, items: 20 });
  const { series } = samples.measured('u')!;
  assert.deepEqual(series.length, 1);
  const { atMs, figures } = series[0]!;
  assert.deepEqual([atMs, figures['xdc_ops'], figures['curr_items']], [5_002_000, 17, 20]);
  assert.equal(figures['ep_num_ops_set_meta'], 10);
});

test('keeps the last sixty steps, leaves short ones out and never goes below zero', () => {
  const { samples, take } = taker();
  for (let second = 0; second <= 100; second++) take(second, { ops: 10 * second });
  take(100.5, { ops: 5000 });
  const { series, rates } = samples.measured('u')!;
  assert.equal(series.length, 60);
  assert.deepEqual([series[0]?.atMs, series.at(-1)?.atMs], [5_041_000, 5_100_000]);
  assert.deepEqual([rates.ops, series.at(-1)?.figures['ops']], [10, 10]);
  take(102, { ops: 0 });
  assert.equal(samples.measured('u')?.rates.ops, 0);
});

test('tells when the state of a bucket changed', () => {
  const { samples, take } = taker();
  assert.equal(take(0, { state: 'warmup' }), true);
  assert.equal(take(1, { state: 'warmup' }), false);
  assert.equal(take(2, { state: 'ready' }), true);
  assert.equal(samples.connections(), 3);
});
