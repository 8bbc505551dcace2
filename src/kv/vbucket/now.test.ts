import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Now } from './now.ts';

const wallMs = 1_700_000_000_000;
/** The end of a lock is rounded up to a tick. */
const tickMs = 1_000 / 16;

test('a lock never ends before its time, wherever between two ticks it begins', () => {
  const starts = Array.from({ length: 200 }, (_, at) => 5_000 + at * 1.7);
  for (const startMs of starts) {
    const now = new Now();
    now.set(wallMs, startMs);
    const end = now.lockEnd(1);
    now.set(wallMs, startMs + 999.9);
    assert.ok(now.isBefore(end), `a lock from ${startMs} ended early`);
    now.set(wallMs, startMs + 1_000 + tickMs);
    assert.ok(!now.isBefore(end), `a lock from ${startMs} did not end`);
  }
});

test('a lock that begins on a tick ends on the tick of its end', () => {
  const now = new Now();
  now.set(wallMs, 10_000);
  const end = now.lockEnd(15);
  now.set(wallMs, 24_999);
  assert.ok(now.isBefore(end));
  now.set(wallMs, 25_000);
  assert.ok(!now.isBefore(end));
});
