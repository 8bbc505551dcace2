import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { Shutdown, stopWithLauncher } from './signals.ts';

function launched(npmCommand: string | undefined) {
  const clock = new ManualClock();
  const state = { parent: 7, stops: 0 };
  stopWithLauncher(() => state.stops++, { npmCommand, parent: () => state.parent, clock });
  return { clock, state };
}

it('stops the process once, after the npm that started it has ended', () => {
  const { clock, state } = launched('exec');
  clock.advance(10_000);
  assert.equal(state.stops, 0);
  state.parent = 1;
  clock.advance(10_000);
  assert.equal(state.stops, 1);
});

it('does not stop a process that npm did not start', () => {
  const { clock, state } = launched(undefined);
  state.parent = 1;
  clock.advance(10_000);
  assert.equal(state.stops, 0);
});

it('goes on with a clean stop when the npm that started the process ends of the same signal', () => {
  const shutdown = new Shutdown();
  let stops = 0;
  shutdown.stopWith(() => {
    stops++;
    return new Promise(() => {});
  });
  shutdown.request();
  shutdown.launcherEnded();
  assert.equal(stops, 1);
});
