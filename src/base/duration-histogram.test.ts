import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DurationHistogram, durationBounds } from './duration-histogram.ts';

test('a histogram counts a duration in its range between powers of two', () => {
  const histogram = new DurationHistogram();
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

test('a histogram reports cumulative counts below each bound, and the sum', () => {
  const histogram = new DurationHistogram();
  for (const milliseconds of [0.01, 0.02, 3, 3, 60_000]) histogram.add(milliseconds);
  const { counts, sum } = histogram.figures();
  assert.equal(counts.length, durationBounds.length + 1);
  const below = (seconds: number) => counts[durationBounds.indexOf(seconds)];
  assert.deepEqual([below(0.000016), below(0.000064), below(0.004096), below(16.777216)], [1, 2, 4, 4]);
  assert.equal(counts.at(-1), 5);
  assert.ok(Math.abs(sum - 60.00603) < 1e-9);
});
