import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HistogramBuilder } from './histogram-builder.ts';

test('bins have equal numbers of rows, and a value that fills a bin has it alone', () => {
  const histogram = new HistogramBuilder(200, 10);
  for (let at = 0; at < 100; at++) histogram.add(at, at === 50 ? 101 : 1);
  const { bins, distinct } = histogram.finish(1);
  assert.equal(distinct, 100);
  assert.deepEqual(
    bins.map(({ upTo, distinct: count }) => [upTo, count]),
    [
      [19, 20],
      [39, 20],
      [49, 10],
      [50, 1],
      [70, 20],
      [90, 20],
      [99, 9],
    ],
  );
  assert.equal(bins[3]?.share, 0.505);
  const total = bins.reduce((sum, { share }) => sum + share, 0);
  assert.ok(Math.abs(total - 1) < 1e-4, `${total}`);
});

test('the fewer values repeat in the sample, the more distinct values the collection is estimated to have', () => {
  const repeated = new HistogramBuilder(100, 10);
  for (let at = 0; at < 10; at++) repeated.add(at, 10);
  assert.equal(repeated.finish(0.01).distinct, 10);
  const unique = new HistogramBuilder(100, 10);
  for (let at = 0; at < 100; at++) unique.add(at, 1);
  assert.equal(unique.finish(0.01).distinct, 10_000);
});

test('without values there are no bins, and long bounds are cut', () => {
  assert.deepEqual(new HistogramBuilder(0, 1).finish(1), { bins: [], distinct: 0 });
  const histogram = new HistogramBuilder(3, 1);
  histogram.add('x'.repeat(200), 1);
  histogram.add(['x'.repeat(200)], 1);
  histogram.add({ a: 'x'.repeat(200) }, 1);
  assert.deepEqual(
    histogram.finish(1).bins.map(({ upTo }) => upTo),
    ['x'.repeat(64), [], {}],
  );
});
