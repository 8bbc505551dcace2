import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ApiError } from '../answers/api-error.ts';
import { RateLimit } from './rate-limit.ts';

test('the rate limit admits a burst of five seconds’ requests, then requests at the configured rate', () => {
  const clock = new ManualClock();
  const limit = new RateLimit(2, clock);
  for (let i = 0; i < 10; i++) limit.admit('a');
  assert.throws(
    () => limit.admit('a'),
    (apiError: ApiError) => apiError.status === 429 && apiError.headers['retry-after'] === '1',
  );
  limit.admit('b');
  clock.advance(500);
  limit.admit('a');
  assert.throws(() => limit.admit('a'));
});

test('a refusal names the seconds that the client must wait in the header Retry-After', () => {
  const clock = new ManualClock();
  const limit = new RateLimit(0.25, clock);
  limit.admit('a');
  const refusedWith = (seconds: string) =>
    assert.throws(
      () => limit.admit('a'),
      (apiError: ApiError) => apiError.headers['retry-after'] === seconds,
    );
  refusedWith('3');
  clock.advance(2000);
  refusedWith('1');
  clock.advance(1000);
  limit.admit('a');
});
