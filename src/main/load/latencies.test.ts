// Percentiles of latencies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Latencies } from './latencies.ts';

test('a computed percentile is at most five percent above the exact one', () => {
  const latencies = new Latencies();
  for (let n = 1; n <= 1_000; n++) latencies.add(n / 10);
  for (const [share, exact] of [
    [0.5, 50],
    [0.95, 95],
    [0.99, 99],
  ] as const) {
    const found = latencies.percentile(share);
    assert.ok(found >= exact && found <= exact * 1.05, `${share}: ${found}`);
  }
  assert.equal(latencies.percentile(1), 100);
  assert.equal(latencies.maxMs, 100);
});

test('without any latency all percentiles are zero, also after clearing', () => {
  const latencies = new Latencies();
  assert.equal(latencies.percentile(0.99), 0);
  latencies.add(5);
  latencies.clear();
  assert.deepEqual([latencies.count, latencies.percentile(0.5)], [0, 0]);
});
