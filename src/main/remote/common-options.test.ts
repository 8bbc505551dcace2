import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiryAfter, expirySeconds, secondsUpTo } from './common-options.ts';

test('a time is bounded, and an expiry is one that the data service can store', () => {
  const days = secondsUpTo(24);
  assert.deepEqual(['90s', '5', '5m', '24d'].map(days.parse), [90, 5, 300, 2_073_600]);
  assert.ok(days.parse('24d') * 1_000 < 2 ** 31, 'too long for a timer');
  for (const text of ['25d', '577h']) assert.throws(() => days.parse(text), /is more than 24d/, text);
  for (const text of ['0', '', '1w', '-1', '1.5h', '12345678'])
    assert.throws(() => days.parse(text), /is not a time/, text);
  assert.equal(expiryAfter(expirySeconds.parse('30d')), 2_592_000);
  assert.ok(expiryAfter(expirySeconds.parse('18250d')) < 2 ** 32);
  assert.throws(() => expirySeconds.parse('99999d'), /is more than 18250d/);
});
