import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aQueryService } from '../../../test/support/query-service.ts';
import { Counters } from '../state/counters.ts';
import { queryMetrics } from './query-metrics.ts';

const valuesOf = (report: Parameters<typeof queryMetrics>[0]) =>
  Object.fromEntries([...queryMetrics(report)].map(({ name, value }) => [name, value]));

test('the counters of the service are reported as metrics', async () => {
  const { answerOf, service } = aQueryService();
  await answerOf({ statement: 'ROWS 3' });
  await answerOf({ statement: 'WRITE' });
  await answerOf({ statement: 'FAIL 4000' });
  await answerOf({ strange: true });
  const values = valuesOf({ counters: service.counters.values, active: 2, queued: 1, prepareds: 0 });
  const expected = {
    n1ql_requests: 4,
    n1ql_selects: 2,
    n1ql_updates: 1,
    n1ql_inserts: 0,
    n1ql_mutations: 1,
    n1ql_errors: 2,
    n1ql_invalid_requests: 1,
    n1ql_result_count: 3,
    n1ql_requests_250ms: 0,
    n1ql_active_requests: 2,
    n1ql_queued_requests: 1,
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(values[name], value, name);
});

test('every counter metric has a counter; all are zero before the first request', () => {
  const samples = [...queryMetrics({ counters: {}, active: 0, queued: 0, prepareds: 0 })];
  assert.ok(samples.length > 20);
  const counted = new Set<string>(Object.keys(new Counters(0).values).map((name) => `n1ql_${name}`));
  for (const { name, kind, value } of samples) {
    assert.equal(value, 0, name);
    if (kind === 'counter') assert.ok(counted.has(name), name);
  }
});
