// The expected values are those of Prometheus 2 for the same samples.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WindowFunction } from './plan.ts';
import { compute } from './window-functions.ts';

/** Samples every ten seconds from `firstMs` on, in a window of the first minute. */
function over(name: WindowFunction, values: readonly number[], firstMs = 0): number | undefined {
  const timesMs = Float64Array.from(values, (_, at) => firstMs + at * 10_000);
  const window = { timesMs, values: Float64Array.from(values), from: 0, to: values.length };
  const value = compute[name]({ ...window, startMs: 0, endMs: 60_000 });
  return value === undefined ? undefined : Math.round(value * 1e9) / 1e9;
}

test('a rate is per second, an increase is that of the whole window', () => {
  const grown = [0, 100, 200, 300, 400, 500, 600];
  assert.equal(over('rate', grown), 10);
  assert.equal(over('increase', grown), 600);
  assert.equal(over('irate', grown), 10);
  assert.equal(over('delta', grown), 600);
  assert.equal(over('idelta', grown), 100);
  assert.equal(over('deriv', grown), 10);
});

test('a falling counter was reset to zero, a falling gauge was not', () => {
  const reset = [500, 600, 100, 200, 300, 400, 500];
  assert.equal(over('increase', reset), 600);
  assert.equal(over('rate', reset), 10);
  assert.equal(over('delta', reset), 0);
  assert.equal(over('irate', [500, 40]), 4);
  assert.equal(over('idelta', [500, 40]), -460);
});

test('changes are extrapolated to an edge of the window that is near a sample', () => {
  // Five seconds are missing at each end, less than 1.1 intervals: the rate is that of the samples between.
  assert.equal(over('increase', [1_000, 1_100, 1_200, 1_300, 1_400, 1_500], 5_000), 600);
  // Twenty-five are missing at the front: half an interval is added for them.
  assert.equal(over('increase', [1_000, 1_100, 1_200, 1_300], 25_000), 400);
  // A counter is not extrapolated below zero.
  assert.equal(over('increase', [10, 110, 210, 310, 410, 510], 5_000), 560);
});

test('one sample has neither a rate nor a difference, but an average', () => {
  for (const name of ['rate', 'increase', 'irate', 'delta', 'idelta', 'deriv'] as const)
    assert.equal(over(name, [5]), undefined, name);
  for (const name of ['avg_over_time', 'min_over_time', 'max_over_time'] as const) {
    assert.equal(over(name, [5]), 5, name);
    assert.equal(over(name, []), undefined, name);
  }
  assert.equal(over('avg_over_time', [1, 2, 6]), 3);
  assert.equal(over('min_over_time', [4, 2, 6]), 2);
  assert.equal(over('max_over_time', [4, 2, 6]), 6);
});
