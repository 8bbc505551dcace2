import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Priority } from '../xdcr.contract.ts';
import { SampledLatency } from './latency.ts';
import { PriorityShares } from './priority-shares.ts';

test('a replication has less in flight while one of a higher priority is late', () => {
  const shares = new PriorityShares();
  const late = new Set<Priority>();
  const all = (['High', 'Medium', 'Low'] as const).map((priority) => ({
    priority,
    isLate: () => late.has(priority),
  }));
  for (const competitor of all) shares.add(competitor);
  const present = () => all.map(({ priority }) => shares.shareOf(priority));
  assert.deepEqual(present(), [1, 1, 1]);
  late.add('Low');
  assert.deepEqual(present(), [1, 1, 1]);
  late.add('Medium');
  assert.deepEqual(present(), [1, 1, 1 / 16]);
  late.add('High');
  assert.deepEqual(present(), [1, 1 / 4, 1 / 16]);
  for (const competitor of all.slice(0, 2)) shares.remove(competitor);
  assert.deepEqual(present(), [1, 1, 1]);
});

test('documents are late when their mean latency exceeds the limit, or when the first of them is not acknowledged', () => {
  const clock = new ManualClock();
  const latency = new SampledLatency(clock);
  const began = latency.begin();
  assert.ok(began !== null);
  assert.equal(latency.begin(), null);
  clock.advance(50);
  assert.equal(latency.exceeds(50), false);
  clock.advance(1);
  assert.equal(latency.exceeds(50), true);
  latency.end(began);
  assert.deepEqual([latency.exceeds(50), latency.exceeds(5)], [false, true]);
  const sampled = Array.from({ length: 320 }, () => {
    const beganMs = latency.begin();
    clock.advance(beganMs === null ? 0 : 100);
    if (beganMs !== null) latency.end(beganMs);
    return beganMs;
  });
  assert.equal(sampled.filter((beganMs) => beganMs !== null).length, 20);
  assert.deepEqual([latency.exceeds(90), latency.exceeds(100)], [true, false]);
});
