// Combining of series; the expected values are those of Prometheus 2.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aggregated, type Row, type Slices } from './combine.ts';
import { derivedRows } from './derived.ts';
import { aggregationOf } from './plan.ts';

const aRow = (labels: Row['labels'], values: readonly (number | null)[]): Row => ({
  labels: { __name__: 'm', ...labels },
  values: Float64Array.from(values, (value) => value ?? 0),
  has: Uint8Array.from(values, (value) => (value === null ? 0 : 1)),
});

/** `yields`: how often the work can be interrupted. */
function worked<T>(slices: Slices<T>): { result: T; yields: number } {
  for (let yields = 0; ; yields++) {
    const { done, value } = slices.next();
    if (done) return { result: value, yields };
  }
}

const resultOf = <T>(slices: Slices<T>): T => worked(slices).result;

function combined(name: string, rows: readonly Row[]): (number | null)[][] {
  const aggregation = aggregationOf(name);
  assert.ok(aggregation, name);
  return resultOf(aggregated(rows, aggregation)).map(({ values, has }) =>
    [...values].map((value, at) => (has[at] === 1 ? value : null)),
  );
}

test('series are combined at each step where they have a value', () => {
  const rows = [
    aRow({ n: 'a' }, [1, 5, null, null]),
    aRow({ n: 'b' }, [2, null, 7, null]),
    aRow({ n: 'c' }, [6, 1, null, null]),
  ];
  assert.deepEqual(combined('sum', rows), [[9, 6, 7, null]]);
  assert.deepEqual(combined('avg', rows), [[3, 3, 7, null]]);
  assert.deepEqual(combined('min', rows), [[1, 1, 7, null]]);
  assert.deepEqual(combined('max', rows), [[6, 5, 7, null]]);
  assert.deepEqual(combined('count', rows), [[3, 2, 1, null]]);
});

test('quantiles are interpolated within a bucket, and never beyond the highest bound', () => {
  const histogram = (counts: readonly [string, number][]) =>
    counts.map(([le, count]) => aRow({ le }, [count]));
  const usual = histogram([
    ['1', 10],
    ['2', 30],
    ['4', 40],
    ['+Inf', 40],
  ]);
  assert.deepEqual(combined('p50', usual), [[1.5]]);
  assert.deepEqual(combined('p25', usual), [[1]]);
  assert.deepEqual(combined('p90', usual), [[3.2]]);
  assert.deepEqual(combined('p10', usual), [[0.4]]);
  const aboveBounds = histogram([
    ['1', 10],
    ['2', 20],
    ['+Inf', 100],
  ]);
  assert.deepEqual(combined('p99', aboveBounds), [[2]]);
  assert.deepEqual(
    combined(
      'p50',
      histogram([
        ['1', 0],
        ['+Inf', 0],
      ]),
    ),
    [[Number.NaN]],
  );
});

test('a sum before a quantile keeps the buckets of histograms apart', () => {
  const rows = ['a', 'b'].flatMap((n) => [
    aRow({ n, le: '1' }, [5]),
    aRow({ n, le: '2' }, [15]),
    aRow({ n, le: '+Inf' }, [15]),
  ]);
  const sum = { kind: 'combine', combiner: 'sum', keepsBound: true } as const;
  const summed = resultOf(aggregated(rows, sum));
  assert.deepEqual(
    summed.map(({ labels, values }) => [labels['le'], values[0]]),
    [
      ['1', 10],
      ['2', 30],
      ['+Inf', 30],
    ],
  );
  assert.deepEqual(combined('p50', summed), [[1.25]]);
  assert.deepEqual(combined('sum', rows), [[70]]);
});

test('thousands of series are combined in slices, between which other requests have their turn', () => {
  const count = 5_000;
  const rows = Array.from({ length: count }, (_, at) => aRow({ n: `${at}`, le: `${at % 3}` }, [1, 2]));
  for (const name of ['sum', 'p99']) {
    const aggregation = aggregationOf(name);
    assert.ok(aggregation);
    const { result, yields } = worked(aggregated(rows, aggregation));
    assert.ok(result.length > 0 && yields >= 20, `${name}: ${yields} yields`);
  }
  const plan = { window: null, aggregations: [] };
  const ratios = worked(derivedRows('kv_ep_cache_miss_ratio', plan, [rows, rows]));
  assert.equal(ratios.result.length, count);
  assert.ok(ratios.yields >= count, `${ratios.yields} yields`);
});
