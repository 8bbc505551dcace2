import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from './histogram.ts';

test('counts durations in the range of powers of two that holds them', () => {
  const histogram = new Histogram();
  for (const milliseconds of [0, 0.0005, 0.001, 0.0015, 0.003, 1, 1.02, 1.024, 1e12, -1]) {
    histogram.add(milliseconds);
  }
  assert.deepEqual(
    [...histogram.ranges()].map(({ from, to, count }) => [from, to, count]),
    [
      [0, 1, 3],
      [1, 2, 2],
      [2, 4, 1],
      [512, 1024, 2],
      [1024, 2048, 1],
      [2 ** 30, 2 ** 31, 1],
    ],
  );
});
