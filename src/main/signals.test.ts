import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { stopWithLauncher } from './launcher.ts';

function launched(npmCommand: string | undefined) {
  const clock = new ManualClock();
  const around = { parent: 7, stops: 0 };
  stopWithLauncher(() => around.stops++, { npmCommand, parent: () => around.parent, clock });
  return { clock, around };
}

it('stops a process of npm once npm is gone, and once only', () => {
  const { clock, around } = launched('exec');
  clock.advance(10_000);
  assert.equal(around.stops, 0);
  around.parent = 1;
  clock.advance(10_000);
  assert.equal(around.stops, 1);
});

it('leaves a process alone that something else started', () => {
  const { clock, around } = launched(undefined);
  around.parent = 1;
  clock.advance(10_000);
  assert.equal(around.stops, 0);
});
