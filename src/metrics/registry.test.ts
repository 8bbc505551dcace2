import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { flatten, MetricsRegistry } from './registry.ts';
import type { MetricSample } from './sample.ts';

const sample = (name: string): MetricSample => ({ name, labels: {}, kind: 'gauge', value: 1 });

test('the registry collects from all sources, synchronous and asynchronous', async () => {
  const registry = new MetricsRegistry({ log: silentLog });
  registry.add('one', { collect: () => [sample('a')] });
  registry.add('two', { collect: async () => [sample('b'), sample('c')] });
  assert.deepEqual(
    (await registry.collect()).map(({ name }) => name),
    ['a', 'b', 'c'],
  );
});

test('the registry skips a failing source and logs the failure once', async () => {
  const warned: unknown[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => void warned.push({ event, ...fields }) };
  const registry = new MetricsRegistry({ log });
  registry.add('broken', { collect: () => Promise.reject(new Error('gone')) });
  registry.add('fine', { collect: () => [sample('a')] });
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(
      (await registry.collect()).map(({ name }) => name),
      ['a'],
    );
  }
  assert.deepEqual(warned, [{ event: 'metrics.source_failed', source: 'broken', reason: 'Error: gone' }]);
});

test('the registry skips a source that ends while it is read, and logs nothing while the node stops', async () => {
  const registry = new MetricsRegistry({ log: { ...silentLog, warn: assert.fail } });
  const pendingSamples = Promise.withResolvers<MetricSample[]>();
  registry.add('ending', { collect: () => pendingSamples.promise });
  registry.add('fine', { collect: () => [sample('a')] });
  const collected = registry.collect();
  registry.ignoreFailures();
  pendingSamples.reject(new Error('gone'));
  assert.deepEqual(
    (await collected).map(({ name }) => name),
    ['a'],
  );
});

test('a histogram is expanded into a series per bound, its sum and its count', () => {
  const histogram: MetricSample = {
    name: 'took_seconds',
    labels: { op: 'get' },
    kind: 'histogram',
    value: { bounds: [0.1, 1], counts: [3, 5, 6], sum: 4.5 },
  };
  assert.deepEqual(
    [...flatten([histogram])],
    [
      { name: 'took_seconds_bucket', labels: { op: 'get', le: '0.1' }, value: 3 },
      { name: 'took_seconds_bucket', labels: { op: 'get', le: '1' }, value: 5 },
      { name: 'took_seconds_bucket', labels: { op: 'get', le: '+Inf' }, value: 6 },
      { name: 'took_seconds_sum', labels: { op: 'get' }, value: 4.5 },
      { name: 'took_seconds_count', labels: { op: 'get' }, value: 6 },
    ],
  );
});
