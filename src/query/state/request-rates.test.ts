import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestRates } from './request-rates.ts';

const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-6 * Math.max(1, expected), `${actual}, not ${expected}`);

/** Adds `perSecond` requests in each second. */
function load(rates: RequestRates, fromMs: number, seconds: number, perSecond: number): number {
  for (let at = 0; at < seconds * perSecond; at++) rates.add(fromMs + (at * 1_000) / perSecond);
  return fromMs + seconds * 1_000;
}

test('at a steady load the averages of 1, 5 and 15 minutes equal its rate from the first interval on', () => {
  const rates = new RequestRates(100);
  near(rates.perSecond(1, 5_099), 0);
  const nowMs = load(rates, 100, 60, 20);
  for (const minutes of [1, 5, 15] as const) near(rates.perSecond(minutes, nowMs), 20);
});

test('the average of a minute falls sooner than that of fifteen', () => {
  const rates = new RequestRates(0);
  const nowMs = load(rates, 0, 60, 20);
  for (const minutes of [1, 5, 15] as const)
    near(rates.perSecond(minutes, nowMs + 60_000), 20 * Math.exp(-1 / minutes));
  near(rates.perSecond(1, nowMs + 86_400_000), 0);
});

test('after an idle time each average rises towards a higher rate, a short one sooner', () => {
  const rates = new RequestRates(0);
  near(rates.perSecond(5, 600_000), 0);
  const nowMs = load(rates, 600_000, 300, 10);
  near(rates.perSecond(5, nowMs), 10 * (1 - Math.exp(-1)));
  near(rates.perSecond(1, nowMs), 10 * (1 - Math.exp(-5)));
});
