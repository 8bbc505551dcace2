import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeriesGrid } from './series-grid.ts';

test('the growth between distant samples of a counter is divided among the seconds between them', () => {
  // Every ten seconds while no client reads the statistics, then every second.
  const sampled = [0, 10, 20, 21, 22, 23];
  const counted = [0, 0, 1000, 1000, 1005, 1005];
  const series = {
    labels: { __name__: 'kv_ops' },
    timesMs: Float64Array.from(sampled, (second) => second * 1000),
    values: Float64Array.from(counted),
  };
  const seconds = Array.from({ length: 23 }, (_, index) => index + 1);
  const grid = new SeriesGrid([series], { timesMs: seconds.map((second) => second * 1000), stepMs: 1000 });
  assert.deepEqual(grid.rate('kv_ops'), [...Array(10).fill(0), ...Array(10).fill(100), 0, 5, 0]);
});
