import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TimeSlices } from './time-slices.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function resolvesIn(clock: ManualClock, pause: Promise<void>): Promise<'at once' | '2 ms' | 'later'> {
  let isDone = false;
  void pause.then(() => {
    isDone = true;
  });
  await turn();
  if (isDone) return 'at once';
  clock.advance(2);
  await turn();
  return isDone ? '2 ms' : 'later';
}

test('a long request pauses only while short ones run, and ending a request twice counts once', async (t) => {
  t.plan(6);
  const clock = new ManualClock();
  const slices = new TimeSlices(clock);
  const long = slices.begin();
  for (let slice = 0; slice < 3; slice++) t.assert.equal(await resolvesIn(clock, long.pause()), 'at once');
  const short = slices.begin();
  t.assert.equal(await resolvesIn(clock, short.pause()), 'at once');
  t.assert.equal(await resolvesIn(clock, long.pause()), '2 ms');
  short.end();
  short.end(); // without effect
  t.assert.equal(await resolvesIn(clock, long.pause()), 'at once');
});
