// Sample series of each zoom, from a store with the samples of the test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricOf } from '#metrics/catalog.ts';
import { testOf } from '#metrics/query/match.ts';
import type { Series } from '#metrics/sample.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { bucketSources, nodeSources } from './bucket-figures.ts';
import { BucketSeriesReader, type SeriesChoice, type SeriesStore } from './bucket-series.ts';
import { bucketSection, type StatsSection, serviceSection } from './stats-sections.ts';

const hourMs = 3_600_000;
const startMs = 100 * 24 * hourMs;
const minute: SeriesChoice = { zoom: 'minute', afterMs: 0, isForChart: false, figure: null };

const series = (name: string, labels: object, stepMs: number, values: number[]): Series => ({
  labels: { __name__: name, bucket: 'b', ...labels },
  timesMs: Float64Array.from(values, (_, index) => startMs + index * stepMs),
  values: Float64Array.from(values),
});

/** The clock stands at the newest sample. */
function reader(...all: Series[]) {
  const resolutionsMs: number[] = [];
  const select: SeriesStore['recent'] = (matchers, from, to) =>
    all
      .filter(({ labels }) => testOf(matchers)(labels))
      .map(({ labels, timesMs, values }) => {
        const within = (_: number, index: number) =>
          (timesMs[index] as number) >= from && (timesMs[index] as number) <= to;
        return { labels, timesMs: timesMs.filter(within), values: values.filter(within) };
      });
  const timeSeries: SeriesStore = {
    recent: select,
    select: async (matchers, from, to, { enoughMs = 0 } = {}) => {
      resolutionsMs.push(enoughMs);
      return { series: select(matchers, from, to) };
    },
  };
  const newest = Math.max(...all.map(({ timesMs }) => timesMs.at(-1) as number));
  return {
    resolutionsMs,
    series: new BucketSeriesReader({ timeSeries, watched: () => {}, clock: new ManualClock(newest) }),
  };
}

const valuesOf = (count: number, valueAt: (index: number) => number) =>
  Array.from({ length: count }, (_, index) => valueAt(index));
const sets = (stepMs: number, values: number[]) => series('kv_ops', { op: 'set' }, stepMs, values);

test('the bucket’s statistics page shows rates for each second of the last minute that add up to all operations', async () => {
  const values = valuesOf(100, (index) => index * index);
  const { timesMs, figures } = await reader(sets(1000, values)).series.read(bucketSection('b'), minute);
  assert.equal(timesMs.length, 60);
  assert.deepEqual([timesMs[0], timesMs.at(-1)], [startMs + 40_000, startMs + 99_000]);
  assert.equal(
    figures['cmd_set']?.reduce((sum, rate) => sum + rate, 0),
    99 * 99 - 39 * 39,
  );
  assert.deepEqual(figures['ops'], figures['cmd_set']);
});

test('the bucket’s statistics page continues over a restart, after which counters begin at zero', async () => {
  const { figures } = await reader(sets(1000, [10, 20, 3, 4])).series.read(bucketSection('b'), minute);
  assert.deepEqual(figures['cmd_set'], [10, 3, 1]);
});

test('the bucket’s statistics page shows the last value of gauges, and sums of separate counters', async () => {
  const { figures } = await reader(
    sets(1000, [0, 0, 0]),
    series('kv_curr_items', {}, 1000, [5, 6, 7]),
    series('kv_ops', { op: 'get', result: 'hit' }, 1000, [0, 6, 6]),
    series('kv_ops', { op: 'get', result: 'miss' }, 1000, [0, 2, 2]),
  ).series.read(bucketSection('b'), minute);
  assert.deepEqual(figures['curr_items'], [6, 7]);
  assert.deepEqual(
    [figures['cmd_get'], figures['hit_ratio']],
    [
      [8, 0],
      [75, 0],
    ],
  );
});

test('the bucket’s statistics page reads longer zooms from the store, in their steps', async () => {
  const zooms: [SeriesChoice['zoom'], number, number][] = [
    ['hour', 900, 4],
    ['day', 1440, 60],
    ['week', 1152, 600],
    ['month', 1488, 1800],
    ['year', 1464, 21_600],
  ];
  for (const [zoom, count, step] of zooms) {
    const stepMs = Math.max(10_000, step * 1000);
    const { resolutionsMs, series: one } = reader(
      sets(
        stepMs,
        valuesOf(1500, (index) => (index * stepMs) / 1000),
      ),
    );
    const { timesMs, figures } = await one.read(bucketSection('b'), { ...minute, zoom });
    assert.equal(timesMs.length, count, zoom);
    assert.equal((timesMs[1] as number) - (timesMs[0] as number), step * 1000);
    assert.ok(
      figures['cmd_set']?.every((rate) => Math.abs(rate - 1) < 1e-9),
      zoom,
    );
    assert.ok(
      resolutionsMs.every((resolutionMs) => resolutionMs === step * 1000),
      zoom,
    );
  }
});

test('the bucket’s statistics page reduces the series of a zoom to about sixty samples for charts', async () => {
  const { series: one } = reader(
    sets(
      10_000,
      valuesOf(1000, (index) => index * 10),
    ),
  );
  const { timesMs, figures } = await one.read(bucketSection('b'), {
    ...minute,
    zoom: 'hour',
    isForChart: true,
  });
  assert.deepEqual([timesMs.length, (timesMs[1] as number) - (timesMs[0] as number)], [60, 60_000]);
  assert.ok(figures['cmd_set']?.every((rate) => rate === 1));
});

test('the bucket’s statistics page omits timestamps without samples and figures that were not requested', async () => {
  const { series: one } = reader(sets(1000, [1, 2, 4]));
  assert.deepEqual(await one.read(bucketSection('b'), { ...minute, figure: 'cmd_set' }), {
    timesMs: [startMs + 1000, startMs + 2000],
    figures: { cmd_set: [1, 2] },
  });
  const later = await one.read(bucketSection('b'), { ...minute, figure: 'cmd_set', afterMs: startMs + 1000 });
  assert.deepEqual(later.figures, { cmd_set: [2] });
  assert.deepEqual(await one.read(bucketSection('b'), { ...minute, figure: 'unheard_of' }), {
    timesMs: [],
    figures: {},
  });
  assert.deepEqual((await one.read(bucketSection('other'), minute)).timesMs, []);
});

const service = (name: string): StatsSection => serviceSection(name) ?? assert.fail(name);
const requests = series('cm_rest_request_enters_total', {}, 1000, [0, 1, 2]);

test('the bucket’s statistics page shows sections of the services: of the node, and the indexes and replications of a bucket', async () => {
  const ofNode = reader(
    requests,
    series('n1ql_selects', {}, 1000, [0, 5, 7]),
    series('n1ql_active_requests', {}, 1000, [1, 2, 3]),
  );
  const { timesMs, figures } = await ofNode.series.read(service('@query'), minute);
  assert.deepEqual(timesMs, [startMs + 1000, startMs + 2000]);
  assert.deepEqual(
    [figures['query_selects'], figures['query_active_requests']],
    [
      [5, 2],
      [2, 3],
    ],
  );

  const rows = (index: string, bucket: string, count: number) =>
    series('index_items_count', { index, bucket, scope: '_default', collection: 'c' }, 1000, [
      count,
      count,
      count,
    ]);
  const ofIndexes = reader(requests, rows('i', 'b', 3), rows('j', 'b', 4), rows('i', 'other', 90));
  const indexes = (await ofIndexes.series.read(service('@index-b'), minute)).figures;
  assert.deepEqual(
    [indexes['index/items_count'], indexes['index/i/items_count'], indexes['index/j/items_count']],
    [
      [7, 7],
      [3, 3],
      [4, 4],
    ],
  );
  // The series of single indexes and replications are not sampled every second.
  assert.deepEqual(ofIndexes.resolutionsMs, [1000, 1000]);

  const labels = {
    targetClusterUUID: 'u',
    sourceBucketName: 'b',
    targetBucketName: 't',
    pipelineType: 'Main',
  };
  const ofReplications = reader(requests, series('xdcr_changes_left', labels, 1000, [5, 6, 7]));
  const replications = (await ofReplications.series.read(service('@xdcr-b'), minute)).figures;
  assert.deepEqual(replications['replications/u/b/t/changes_left'], [6, 7]);
  assert.deepEqual(replications['replication_changes_left'], [6, 7]);
});

test('the bucket’s statistics page has no section for services that do not exist', () => {
  for (const name of ['b', '@fts', '@cbas-b', '@', '@queries']) assert.equal(serviceSection(name), null);
});

test('the bucket’s statistics page uses only metrics of the catalog', () => {
  for (const name of [...bucketSources, ...nodeSources])
    assert.ok(metricOf(name) ?? metricOf(name.replace(/_(sum|count)$/, '')), name);
});
