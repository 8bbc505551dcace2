import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { stopWithLauncher } from './signals.ts';

function launched(npmCommand: string | undefined) {
  const clock = new ManualClock();
  const around = { parent: 7, stops: 0 };
  stopWithLauncher(() => around.stops++, { npmCommand, parent: () => around.parent, clock });
  return { clock, around };
}

it('stops a process that npm started when npm has ended, and only once', () => {
  const { clock, around } = launched('exec');
  clock.advance(10_000);
  assert.equal(around.stops, 0);
  around.parent = 1;
  clock.advance(10_000);
  assert.equal(around.stops, 1);
});

it('does not stop a process that npm did not start', () => {
  const { clock, around } = launched(undefined);
  around.parent = 1;
  clock.advance(10_000);
  assert.equal(around.stops, 0);
});
