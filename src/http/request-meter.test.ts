import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestMeter } from './request-meter.ts';

const request = {
  path: '/pools/default/buckets/:bucket',
  method: 'GET',
  status: 200,
  milliseconds: 3,
} as const;

test('requests are counted by declared path, method, scheme and status', () => {
  const meter = new RequestMeter();
  for (const status of [200, 200, 404]) meter.answered({ ...request, scheme: 'http', status });
  meter.answered({ ...request, scheme: 'https' });
  const path = '/pools/default/buckets/*';
  assert.deepEqual(
    [...meter.counts()],
    [
      { code: '200', method: 'GET', path, scheme: 'http', count: 2 },
      { code: '404', method: 'GET', path, scheme: 'http', count: 1 },
      { code: '200', method: 'GET', path, scheme: 'https', count: 1 },
    ],
  );
  const [times] = [...meter.times()];
  assert.deepEqual([times?.method, times?.counts.at(-1)], ['GET', 4]);
  assert.ok(Math.abs((times?.sum ?? 0) - 0.012) < 1e-9);
});

test('the counts do not grow with unknown paths', () => {
  const meter = new RequestMeter();
  for (let index = 0; index < 100; index++) {
    meter.answered({ path: null, method: `M${index}`, status: 404, scheme: 'http', milliseconds: 1 });
  }
  assert.deepEqual(
    [...meter.counts()],
    [{ code: '404', method: 'other', path: 'none', scheme: 'http', count: 100 }],
  );
});

test('unauthenticated and forbidden requests are counted', () => {
  const meter = new RequestMeter();
  for (const status of [401, 403, 403]) meter.answered({ ...request, scheme: 'http', status });
  assert.deepEqual([meter.totals.unauthenticated, meter.totals.forbidden], [1, 2]);
});
