import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { untilPersisted } from './until-persisted.ts';

/** Each sleep advances the clock by its duration and resolves at once. */
class SteppingClock extends ManualClock {
  override async sleep(ms: number): Promise<void> {
    this.advance(ms);
  }
}
const { signal } = new AbortController();

it('a wait for the disk continues while changes are written, and fails a minute after the last change was written', async () => {
  const clock = new SteppingClock(0);
  /** The changes in memory; one is written every 50 seconds while there are more than `stuckAt`. */
  let left = 0;
  const wait = (stuckAt: number) =>
    untilPersisted('b', async () => (clock.monotonicMs() % 50_000 === 0 && left > stuckAt ? --left : left), {
      clock,
      signal,
    });
  left = 4;
  await wait(0);
  assert.equal(clock.monotonicMs(), 150_000);
  left = 4;
  await assert.rejects(
    wait(2),
    /bucket "b" has written nothing to disk for 60 s: 2 changes are in its memory/,
  );
  assert.equal(clock.monotonicMs(), 260_000);
});

it('a short wait for the disk ends soon, and a long one does not occupy the nodes with polls', async () => {
  const clock = new SteppingClock(0);
  let polls = 0;
  const waitOf = async (ms: number) => {
    const endMs = clock.monotonicMs() + ms;
    polls = 0;
    const left = async () => {
      polls++;
      return Math.max(0, endMs - clock.monotonicMs());
    };
    await untilPersisted('b', left, { clock, signal });
    return { lateMs: clock.monotonicMs() - endMs, polls };
  };
  assert.deepEqual(await waitOf(30), { lateMs: 0, polls: 4 });
  // 10 polls in the first 100 ms, 9 until a second is over, then one a second.
  assert.deepEqual(await waitOf(600_000), { lateMs: 0, polls: 10 + 9 + 600 });
});
