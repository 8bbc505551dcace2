import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { SendLimit } from './send-limit.ts';

const mib = 1 << 20;

/** Sends as much as the limit lets through in this time. */
function sentIn(seconds: number, limit: SendLimit, clock: ManualClock, messageBytes: number): number {
  const endMs = clock.monotonicMs() + seconds * 1000;
  let sent = 0;
  while (clock.monotonicMs() < endMs) {
    const { waitMs } = limit;
    if (waitMs > 0) clock.advance(waitMs);
    else {
      limit.sent(messageBytes);
      sent += messageBytes;
    }
  }
  return sent;
}

test('no more bytes are sent than the limit allows, for messages of any size', () => {
  for (const [rate, messageBytes] of [
    [mib, 10_000],
    [mib, 100],
    [64 * mib, 1_000_000],
    [mib / 4, mib],
  ] as const) {
    const clock = new ManualClock();
    const limit = new SendLimit(rate, clock);
    const sent = sentIn(10, limit, clock, messageBytes);
    // One tenth of a second may be sent in advance, and the last message is sent whole.
    assert.ok(sent <= 10.1 * rate + messageBytes, `${sent} bytes`);
    assert.ok(sent >= 10 * rate - messageBytes, `${sent} bytes`);
  }
});

test('time without documents does not allow more bytes later', () => {
  const clock = new ManualClock();
  const limit = new SendLimit(mib, clock);
  limit.sent(mib);
  clock.advance(60_000);
  assert.ok(sentIn(1, limit, clock, 1000) <= 1.1 * mib + 1000);
});

test('0 is no limit', () => {
  const limit = new SendLimit(0, new ManualClock());
  for (let count = 0; count < 1000; count++) limit.sent(100 * mib);
  assert.equal(limit.waitMs, 0);
});
