import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Denials, sendersMax, windowMs } from './denials.ts';

function someDenials() {
  const clock = new ManualClock();
  const recorded: [string, unknown, unknown][] = [];
  const denials = new Denials({
    clock,
    record: (name, { user, count }) => recorded.push([name, user, count]),
  });
  return { clock, denials, recorded };
}

describe('refused requests', () => {
  it('are reported at once, and the rest of a minute in one entry', () => {
    const { clock, denials, recorded } = someDenials();
    for (let time = 0; time < 1000; time++) denials.add('login_failed', { user: 'a', from: 'x' });
    assert.deepEqual(recorded, [['login_failed', 'a', 1]]);
    clock.advance(windowMs);
    assert.deepEqual(recorded.splice(0), [
      ['login_failed', 'a', 1],
      ['login_failed', 'a', 999],
    ]);
    denials.add('login_failed', { user: 'a', from: 'x' });
    clock.advance(windowMs);
    assert.deepEqual([recorded, clock.pending], [[['login_failed', 'a', 1]], 0]);
  });

  it('are distinguished by kind, user and sender', () => {
    const { denials, recorded } = someDenials();
    denials.add('login_failed', { user: 'a', from: 'x' });
    denials.add('login_failed', { user: 'a', from: 'y' });
    denials.add('login_failed', { user: 'b', from: 'x' });
    denials.add('permission_refused', { user: 'a', from: 'x' });
    assert.equal(recorded.length, 4);
  });

  it('have a bounded number of entries for any number of senders', () => {
    const { clock, denials, recorded } = someDenials();
    for (let sender = 0; sender < 10_000; sender++)
      denials.add('login_failed', { user: null, from: `${sender}` });
    clock.advance(windowMs);
    assert.equal(recorded.length, sendersMax + 1);
    assert.deepEqual(recorded.at(-1), ['login_failed', null, 10_000 - sendersMax]);
  });
});
