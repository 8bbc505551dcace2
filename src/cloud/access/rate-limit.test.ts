import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ApiError } from '../answers/api-error.ts';
import { RateLimit } from './rate-limit.ts';

test('admits a burst of five seconds’ requests, then as many as refill', () => {
  const clock = new ManualClock();
  const limit = new RateLimit(2, clock);
  for (let i = 0; i < 10; i++) limit.take('a');
  assert.throws(
    () => limit.take('a'),
    (apiError: ApiError) => apiError.status === 429 && apiError.headers['retry-after'] === '1',
  );
  limit.take('b');
  clock.advance(500);
  limit.take('a');
  assert.throws(() => limit.take('a'));
});
