// When a group commits: at once after a pause of the stream, else in intervals that leave half of the thread's time to other work.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { FollowedIndex } from './followed-index.ts';
import { IndexGroup } from './index-group.ts';

const commitMs = 40;

/** Commits take time, without timers that fire meanwhile. */
class BusyClock extends ManualClock {
  busyMs = 0;
  override monotonicMs(): number {
    return super.monotonicMs() + this.busyMs;
  }
}

test('a few changes after a long commit wait for the shortest interval, many as long as the commit took', () => {
  const clock = new BusyClock();
  const index = {
    collectionId: 8,
    isBuilt: true,
    needsTarget: false,
    uncommitted: 0,
    commits: 0,
    get isCommitDue() {
      return this.uncommitted > 0;
    },
    stage() {},
    publish() {},
    commit() {
      clock.busyMs += commitMs;
      this.uncommitted = 0;
      this.commits++;
    },
  };
  const group = new IndexGroup({
    address: { host: '127.0.0.1', port: 1, timeoutMs: 1 },
    account: { username: 'a', password: 'b' },
    bucket: 'b',
    routes: null,
    name: 'test',
    indexes: [index as unknown as FollowedIndex],
    clock,
    log: silentLog,
    changed: () => {},
    broken: () => {},
  });
  const received = (changes: number): number => {
    index.uncommitted = changes;
    group.drained();
    return index.commits;
  };
  assert.equal(received(1), 1, 'the stream had paused');
  assert.equal(received(1), 1);
  clock.advance(2);
  assert.equal(index.commits, 2);
  assert.equal(received(1_000), 2);
  clock.advance(commitMs - 1);
  assert.equal(index.commits, 2);
  clock.advance(1);
  assert.equal(index.commits, 3);
});
