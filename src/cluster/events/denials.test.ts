import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Denials, sendersMax, windowMs } from './denials.ts';

function aCounter() {
  const clock = new ManualClock();
  const told: [string, unknown, unknown][] = [];
  const refusals = new Denials({
    clock,
    record: (name, { user, count }) => told.push([name, user, count]),
  });
  return { clock, refusals, told };
}

describe('refused requests', () => {
  it('are reported at once, and the rest of a minute in one entry', () => {
    const { clock, refusals, told } = aCounter();
    for (let time = 0; time < 1000; time++) refusals.note('login_failed', { user: 'a', from: 'x' });
    assert.deepEqual(told, [['login_failed', 'a', 1]]);
    clock.advance(windowMs);
    assert.deepEqual(told.splice(0), [
      ['login_failed', 'a', 1],
      ['login_failed', 'a', 999],
    ]);
    refusals.note('login_failed', { user: 'a', from: 'x' });
    clock.advance(windowMs);
    assert.deepEqual([told, clock.pending], [[['login_failed', 'a', 1]], 0]);
  });

  it('are distinguished by kind, user and sender', () => {
    const { refusals, told } = aCounter();
    refusals.note('login_failed', { user: 'a', from: 'x' });
    refusals.note('login_failed', { user: 'a', from: 'y' });
    refusals.note('login_failed', { user: 'b', from: 'x' });
    refusals.note('permission_refused', { user: 'a', from: 'x' });
    assert.equal(told.length, 4);
  });

  it('are bounded for any number of senders', () => {
    const { clock, refusals, told } = aCounter();
    for (let sender = 0; sender < 10_000; sender++)
      refusals.note('login_failed', { user: null, from: `${sender}` });
    clock.advance(windowMs);
    assert.equal(told.length, sendersMax + 1);
    assert.deepEqual(told.at(-1), ['login_failed', null, 10_000 - sendersMax]);
  });
});
