// When tasks run, in a time zone whose clocks change.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Schedule } from './backup-state.ts';
import { firstRun, isPlausible, localTimeText, runAfter } from './schedule.ts';

describe('a schedule', () => {
  const zone = process.env['TZ'];
  before(() => {
    process.env['TZ'] = 'Europe/Berlin';
  });
  after(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });

  const timeMs = (text: string): number => Date.parse(text);
  const schedule = (frequency: number, period: Schedule['period'], time?: string): Schedule => ({
    frequency,
    period,
    time,
  });

  it('begins a whole period later, or at the next time of day', () => {
    const now = timeMs('2026-11-23T10:15:00+01:00'); // a Monday
    const cases: [Schedule, string][] = [
      [schedule(20, 'MINUTES'), '2026-11-23T10:35:00.000+01:00'],
      [schedule(1, 'HOURS'), '2026-11-23T11:15:00.000+01:00'],
      [schedule(6, 'HOURS', '10:30'), '2026-11-23T10:30:00.000+01:00'],
      [schedule(2, 'DAYS'), '2026-11-25T10:15:00.000+01:00'],
      [schedule(1, 'DAYS', '22:00'), '2026-11-23T22:00:00.000+01:00'],
      [schedule(1, 'DAYS', '10:15'), '2026-11-24T10:15:00.000+01:00'],
      [schedule(1, 'WEEKS'), '2026-11-30T10:15:00.000+01:00'],
      [schedule(1, 'MONDAY', '22:00'), '2026-11-23T22:00:00.000+01:00'],
      [schedule(1, 'MONDAY', '09:00'), '2026-11-30T09:00:00.000+01:00'],
      [schedule(3, 'SUNDAY'), '2026-11-29T00:00:00.000+01:00'],
    ];
    for (const [one, expected] of cases) assert.equal(localTimeText(firstRun(one, now)), expected);
  });

  it('continues from the previous run, and leaves out the runs that were missed', () => {
    const before = timeMs('2026-11-23T22:00:00+01:00');
    const cases: [Schedule, now: string, next: string][] = [
      [schedule(20, 'MINUTES'), '2026-11-23T22:00:01+01:00', '2026-11-23T22:20:00.000+01:00'],
      [schedule(20, 'MINUTES'), '2026-11-24T07:59:00+01:00', '2026-11-24T08:00:00.000+01:00'],
      [schedule(1, 'DAYS', '22:00'), '2026-12-01T22:00:00+01:00', '2026-12-02T22:00:00.000+01:00'],
      [schedule(2, 'MONDAY', '22:00'), '2026-11-23T22:00:00+01:00', '2026-12-07T22:00:00.000+01:00'],
      [schedule(200, 'WEEKS'), '2026-11-23T22:00:00+01:00', '2030-09-23T22:00:00.000+02:00'],
    ];
    for (const [one, now, next] of cases)
      assert.equal(localTimeText(runAfter(one, before, timeMs(now))), next);
  });

  it('keeps the time of day when the clocks change', () => {
    const daily = schedule(1, 'DAYS', '22:00');
    const spring = runAfter(daily, timeMs('2026-03-28T22:00:00+01:00'), timeMs('2026-03-28T22:00:00+01:00'));
    assert.equal(localTimeText(spring), '2026-03-29T22:00:00.000+02:00');
    const autumn = runAfter(daily, timeMs('2026-10-24T22:00:00+02:00'), timeMs('2026-10-24T22:00:00+02:00'));
    assert.equal(localTimeText(autumn), '2026-10-25T22:00:00.000+01:00');
    const missed = runAfter(daily, timeMs('2026-03-01T22:00:00+01:00'), timeMs('2026-11-01T12:00:00+01:00'));
    assert.equal(localTimeText(missed), '2026-11-01T22:00:00.000+01:00');
    // The first of the missed days has 23 hours.
    const longMissed = runAfter(
      daily,
      timeMs('2026-03-28T22:00:00+01:00'),
      timeMs('2026-07-01T12:00:00+02:00'),
    );
    assert.equal(localTimeText(longMissed), '2026-07-01T22:00:00.000+02:00');
    // The night of the change has no 02:30: only this run is at 03:30.
    const nightly = schedule(1, 'DAYS', '02:30');
    const shifted = runAfter(
      nightly,
      timeMs('2026-03-28T02:30:00+01:00'),
      timeMs('2026-03-28T02:30:00+01:00'),
    );
    assert.equal(localTimeText(shifted), '2026-03-29T03:30:00.000+02:00');
    assert.equal(localTimeText(runAfter(nightly, shifted, shifted)), '2026-03-30T02:30:00.000+02:00');
    // Hours are elapsed time.
    const hourly = runAfter(
      schedule(1, 'HOURS'),
      timeMs('2026-10-25T02:30:00+02:00'),
      timeMs('2026-10-25T02:30:00+02:00'),
    );
    assert.equal(localTimeText(hourly), '2026-10-25T02:30:00.000+01:00');
  });

  it('keeps a next run that a machine of another time zone planned', () => {
    const [daily, now] = [schedule(1, 'DAYS', '12:00'), timeMs('2026-11-23T12:00:00-05:00')];
    const planned = (text: string) => isPlausible(daily, timeMs(text), now);
    assert.equal(localTimeText(now), '2026-11-23T18:00:00.000+01:00');
    assert.ok(planned('2026-11-24T12:00:00-05:00'));
    assert.ok(!planned('2026-11-24T14:00:00-05:00'));
  });
});
