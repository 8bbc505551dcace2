import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLimits, userLimitNames } from './user-limits.ts';
import { UserMeters } from './user-meters.ts';

test('a meter limits the concurrent requests of a user, and their number and bytes per minute', () => {
  let nowMs = 0;
  const meters = new UserMeters({ monotonicMs: () => nowMs });
  const limits = { num_concurrent_requests: 2, num_queries_per_min: 3, egress_mib_per_min: 1 };
  assert.deepEqual(meters.enter('a', limits, 0), []);
  assert.deepEqual(meters.enter('a', limits, 0), []);
  assert.deepEqual(meters.enter('a', limits, 0), ['num_concurrent_requests']);
  assert.deepEqual(meters.enter('b', limits, 0), []);
  meters.leave('a', 10);
  meters.leave('a', 1 << 20);
  assert.deepEqual(meters.enter('a', limits, 0), ['egress']);
  assert.deepEqual(meters.enter('a', { ...limits, egress_mib_per_min: 2 }, 0), []);
  assert.deepEqual(meters.enter('a', { num_queries_per_min: 3 }, 0), ['num_queries_per_min']);
  nowMs = 60_000;
  assert.deepEqual(meters.enter('a', limits, 2 << 20), []);
  assert.deepEqual(meters.enter('a', { ingress_mib_per_min: 2, num_concurrent_requests: 2 }, 0), [
    'num_concurrent_requests',
    'ingress',
  ]);
});

test('limits are whole numbers from 1 under the published names', () => {
  const problem = (sent: unknown) => {
    const read = readLimits(sent, userLimitNames);
    return 'problem' in read ? read.problem : read.limits;
  };
  assert.equal(problem({}), null);
  assert.equal(problem({ kv: {} }), null);
  assert.deepEqual(problem({ kv: { num_connections: 1 } }), { kv: { num_connections: 1 } });
  for (const [sent, text] of [
    [[], 'Unexpected Json'],
    [{ views: {} }, 'views: Unsupported key'],
    [{ kv: 3 }, 'kv: Unexpected Json'],
    [{ kv: { num_queries_per_min: 1 } }, 'kv.num_queries_per_min: Unsupported key'],
    [{ kv: { num_connections: '1' } }, 'kv.num_connections: The value must be an integer'],
    [{ kv: { num_connections: 0 } }, 'kv.num_connections: The value must be in range from 1 to infinity'],
  ] as const)
    assert.equal(problem(sent), text);
});
