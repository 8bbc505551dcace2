import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { runPromises } from '../../../test/support/advance-clock.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { CopyPace } from './copy-pace.ts';

const noSignal = new AbortController().signal;

function aPace() {
  const clock = new ManualClock();
  const pace = new CopyPace(clock);
  let isDone = false;
  /** Copies a page, which takes `ms`; the commits that a test begins run meanwhile. */
  const page = (ms: number, { isOutrun = false, signal = noSignal } = {}): Promise<unknown> => {
    isDone = false;
    const copied = pace.page(async () => {
      clock.advance(ms);
      return { isOutrun };
    }, signal);
    return copied.finally(() => {
      isDone = true;
    });
  };
  const aCommit = () => {
    const { promise, resolve } = deferred<void>();
    const ended = pace.commit(() => promise);
    const end = (): Promise<void> => {
      resolve();
      return ended;
    };
    return { end };
  };
  return { clock, pace, page, aCommit, isDone: () => isDone };
}

describe('the pace at which a compaction copies a file', () => {
  it('has a pause after a page for as long as commits ran during its copy', async () => {
    const { clock, page, aCommit, isDone } = aPace();
    const commits = [aCommit(), aCommit()];
    const copied = page(10);
    await runPromises();
    assert.equal(clock.pending, 1);
    clock.advance(9);
    await runPromises();
    assert.equal(isDone(), false);
    clock.advance(1);
    await copied;
    for (const commit of commits) await commit.end();
  });

  it('adds up pauses that are too short, and makes them together', async () => {
    const { clock, page, aCommit, isDone } = aPace();
    const commit = aCommit();
    await page(6);
    const copied = page(6);
    await runPromises();
    clock.advance(11);
    await runPromises();
    assert.equal(isDone(), false);
    clock.advance(1);
    await copied;
    await commit.end();
  });

  it('has no pause after a page during whose copy no commit ran', async () => {
    const { clock, page, aCommit } = aPace();
    await page(10);
    const commit = aCommit();
    clock.advance(500);
    await commit.end();
    await page(10);
  });

  it('has a pause of bounded length after a page that took long', async () => {
    const { clock, page, aCommit } = aPace();
    const commit = aCommit();
    const copied = page(5000);
    await runPromises();
    clock.advance(30);
    await copied;
    await commit.end();
  });

  it('has no pause when commits outrun the copy, and ends a pause that is cancelled', async () => {
    const { page, aCommit } = aPace();
    const commit = aCommit();
    await page(10, { isOutrun: true });
    const cancellation = new AbortController();
    const copied = page(10, { signal: cancellation.signal });
    await runPromises();
    cancellation.abort(new Error('enough'));
    await assert.rejects(copied, /enough/);
    await commit.end();
  });

  it('has no pause for a commit that failed before the copy of the page', async () => {
    const { clock, pace, page } = aPace();
    await assert.rejects(
      pace.commit(() => Promise.reject(new Error('full'))),
      /full/,
    );
    const copied = page(10);
    await runPromises();
    assert.equal(clock.pending, 0);
    await copied;
  });
});
