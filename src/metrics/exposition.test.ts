import assert from 'node:assert/strict';
import { test } from 'node:test';
import { histogramOf, sampleOf } from './catalog.ts';
import { openMetricsText, prometheusText } from './exposition.ts';
import type { MetricSample } from './sample.ts';

const samples: MetricSample[] = [
  sampleOf('kv_ops', { bucket: 'a', op: 'set' }, 5),
  sampleOf('kv_curr_items', { bucket: 'a' }, 2),
  sampleOf('kv_ops', { bucket: 'b "\\\n"', op: 'set' }, 7),
  sampleOf('cm_rest_request_enters_total', {}, 3),
];

test('the text has the samples of one name together, with their kind and help text', () => {
  const [first, second, ...rest] = prometheusText(samples).split('\n');
  assert.match(first ?? '', /^# HELP kv_ops \w/);
  assert.equal(second, '# TYPE kv_ops counter');
  assert.deepEqual(rest.slice(0, 2), [
    'kv_ops{bucket="a",op="set"} 5',
    'kv_ops{bucket="b \\"\\\\\\n\\"",op="set"} 7',
  ]);
  assert.equal(rest.at(-1), '', 'ends with a line feed');
  assert.ok(rest.includes('cm_rest_request_enters_total 3'));
});

test('the text has histograms with their bounds, sum and count', () => {
  const histogram = histogramOf(
    'kv_disk_seconds',
    { op: 'commit' },
    { bounds: [0.5], counts: [1, 3], sum: 2.5 },
  );
  assert.deepEqual(prometheusText([histogram]).split('\n').slice(1), [
    '# TYPE kv_disk_seconds histogram',
    'kv_disk_seconds_bucket{op="commit",le="0.5"} 1',
    'kv_disk_seconds_bucket{op="commit",le="+Inf"} 3',
    'kv_disk_seconds_sum{op="commit"} 2.5',
    'kv_disk_seconds_count{op="commit"} 3',
    '',
  ]);
});

test('the text has numbers in the notation of Prometheus', () => {
  const values = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1e21, 0.1];
  const lines = prometheusText(
    values.map((value, index) => sampleOf('kv_curr_items', { bucket: `${index}` }, value)),
  );
  assert.deepEqual(
    [...lines.matchAll(/^kv_curr_items\S* (.+)$/gm)].map(([, text]) => text),
    ['+Inf', '-Inf', 'NaN', '1e+21', '0.1'],
  );
});

test('the OpenMetrics text has the type unknown for counters without the suffix _total', () => {
  const text = openMetricsText(samples);
  assert.match(text, /^# TYPE kv_ops unknown$/m);
  assert.match(text, /^# TYPE cm_rest_request_enters counter$/m);
  assert.match(text, /^cm_rest_request_enters_total 3$/m);
  assert.ok(text.endsWith('\n# EOF\n'));
});
