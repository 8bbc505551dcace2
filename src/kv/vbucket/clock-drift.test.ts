import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClockDrift } from './clock-drift.ts';
import { Now } from './now.ts';

const nowMs = 1_700_000_000_000;

function aDrift(clockDriftMs = { ahead: 5000, behind: 3000 }) {
  const now = new Now();
  now.set(nowMs, 0);
  const rules = { clockDriftMs };
  const drift = new ClockDrift(now, rules);
  const noteMs = (ms: number): void => {
    const cas = BigInt(nowMs + ms) * 1_000_000n;
    drift.note(Number(cas >> 32n), Number(cas & 0xffffffffn));
  };
  return { drift, noteMs, rules };
}

test('the drift is the sum of the distances between CAS values and the clock, in both directions', () => {
  const { drift, noteMs } = aDrift();
  noteMs(2000);
  noteMs(-1000);
  const { us, writes } = drift.figures();
  assert.equal(writes, 2);
  // The low 16 bits of the clock's CAS are clear: it is exact to 2^16 ns, about 65 µs.
  assert.ok(Math.abs(us - 3_000_000) < 200, `${us} µs`);
});

test('only CAS values beyond the limit of their direction are counted, by the limits when they are noted', () => {
  const { drift, noteMs, rules } = aDrift();
  for (const ms of [0, 4900, 5100, -2900, -3100, -3200]) noteMs(ms);
  assert.deepEqual([drift.figures().ahead, drift.figures().behind], [1, 2]);
  rules.clockDriftMs = { ahead: 100, behind: 60_000 };
  noteMs(200);
  noteMs(-50_000);
  assert.deepEqual([drift.figures().ahead, drift.figures().behind], [2, 2]);
});
