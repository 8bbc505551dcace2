// The feed of one vbucket, from a source whose pages arrive when the test delivers them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ChangeSource } from '../data/change-source.ts';
import { CutWriter, stateOfVbucket } from '../data/cut.ts';
import type { BackfillPage } from '../data/disk-engine.ts';
import { DelayedWork, delayMs } from './delayed-work.ts';
import { type BatchSink, type VbucketBatch, VbucketFeed } from './vbucket-feed.ts';

const vb = 5;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const aSink = (
  send: (batch: VbucketBatch) => void,
  begin: (vb: number, failover?: Uint8Array) => void = () => {},
): BatchSink => ({
  hasRoom: true,
  bytes: 0,
  begin,
  item: () => {},
  end: send,
  abandon: () => {},
  page: (_, batch, { sent }) => {
    send(batch);
    sent();
  },
});

function aPage(toSeqno: number, purgeSeqno = 0): BackfillPage {
  const writer = new CutWriter();
  writer.begin(0);
  writer.finish(stateOfVbucket(vb));
  return { batch: writer.takeAll(), toSeqno, endSeqno: toSeqno, purgeSeqno };
}

test('a page is read again when its rows reached the disk while it was read', async () => {
  const reads: ((page: BackfillPage) => void)[] = [];
  const source = {
    follow: () => {},
    unfollow: () => {},
    highSeqno: () => 3,
    visibleSeqno: () => 3,
    awaitsCopiesOnDisk: () => false,
    hasRecent: () => false,
    backfillForCopy: () => new Promise<BackfillPage>((resolve) => reads.push(resolve)),
  } as Partial<ChangeSource> as ChangeSource;
  const sent: VbucketBatch[] = [];
  const feed = new VbucketFeed({
    source,
    vb,
    position: 0,
    knownPurge: 0,
    clock: new ManualClock(),
    delayed: new DelayedWork(new ManualClock()),
    sink: aSink((batch) => sent.push(batch)),
    history: () => new Uint8Array(0),
    isUrgent: () => false,
    tooOld: () => assert.fail('nothing was purged'),
    failed: assert.fail,
  });
  feed.start();
  await turn();
  assert.equal(reads.length, 1);
  feed.changed();
  await turn();
  reads[0]?.(aPage(0));
  await turn();
  await turn();
  assert.equal(reads.length, 2, 'no later change will notify the feed');
  reads[1]?.(aPage(3));
  await turn();
  assert.deepEqual(sent, [{ start: 1, to: 3, end: 3, live: false, isAwaited: false, awaitsDisk: false }]);
  assert.equal(feed.position, 3);
  feed.close();
});

test('a page without new rows is not read again before something changes', async () => {
  let reads = 0;
  const source = {
    follow: () => {},
    unfollow: () => {},
    highSeqno: () => 3,
    visibleSeqno: () => 3,
    hasRecent: () => false,
    backfillForCopy: () => {
      reads++;
      return Promise.resolve(aPage(0));
    },
  } as Partial<ChangeSource> as ChangeSource;
  const clock = new ManualClock();
  const feed = new VbucketFeed({
    source,
    vb,
    position: 0,
    knownPurge: 0,
    clock,
    delayed: new DelayedWork(clock),
    sink: aSink(() => assert.fail('there is nothing to send')),
    history: () => new Uint8Array(0),
    isUrgent: () => false,
    tooOld: assert.fail,
    failed: assert.fail,
  });
  feed.start();
  for (let i = 0; i < 5; i++) await turn();
  assert.equal(reads, 1);
  feed.changed();
  clock.advance(delayMs.quiet);
  for (let i = 0; i < 5; i++) await turn();
  assert.equal(reads, 2);
  feed.close();
});

test('changes that no client waits for are sent together after a short time, a durable write at once with all before it', () => {
  const now = { high: 0, visible: 0, awaitsDisk: false };
  const source = {
    follow: () => {},
    unfollow: () => {},
    highSeqno: () => now.high,
    visibleSeqno: () => now.visible,
    awaitsCopiesOnDisk: () => now.awaitsDisk,
    hasRecent: () => true,
    readNextForCopy: () => 0,
  } as Partial<ChangeSource> as ChangeSource;
  const sent: VbucketBatch[] = [];
  const clock = new ManualClock();
  const history = Buffer.from('history');
  const histories: unknown[] = [];
  const feed = new VbucketFeed({
    source,
    vb,
    position: 0,
    knownPurge: 0,
    clock,
    delayed: new DelayedWork(clock),
    sink: aSink(
      (batch) => sent.push(batch),
      (_vb, failover) => histories.push(failover),
    ),
    history: () => history,
    isUrgent: () => false,
    tooOld: assert.fail,
    failed: assert.fail,
  });
  const change = (high: number, visible: number): void => {
    Object.assign(now, { high, visible });
    feed.changed();
  };
  change(1, 1);
  change(2, 2);
  assert.deepEqual(sent, [], 'sent without a wait for more changes');
  clock.advance(delayMs.quiet);
  assert.deepEqual(sent.splice(0), [
    { start: 1, to: 2, end: 2, live: true, isAwaited: false, awaitsDisk: false },
  ]);
  change(3, 3);
  change(4, 3);
  assert.deepEqual(sent.splice(0), [
    { start: 3, to: 4, end: 4, live: true, isAwaited: true, awaitsDisk: false },
  ]);
  now.awaitsDisk = true;
  change(5, 4);
  assert.deepEqual(sent.splice(0), [
    { start: 5, to: 5, end: 5, live: true, isAwaited: true, awaitsDisk: true },
  ]);
  clock.advance(delayMs.quiet);
  assert.deepEqual(sent, [], 'all was sent');
  assert.deepEqual(histories, [history, undefined, undefined], 'the first batch has the history');
  change(6, 6);
  feed.close();
  clock.advance(delayMs.quiet);
  assert.deepEqual(sent, [], 'a closed feed sends nothing');
});

test('changes are sent at once, and their answers requested at once, while requests wait for the shard', () => {
  const source = {
    follow: () => {},
    unfollow: () => {},
    highSeqno: () => 3,
    visibleSeqno: () => 3,
    awaitsCopiesOnDisk: () => false,
    hasRecent: () => true,
    readNextForCopy: () => 0,
  } as Partial<ChangeSource> as ChangeSource;
  const sent: VbucketBatch[] = [];
  let isUrgent = false;
  const clock = new ManualClock();
  const feed = new VbucketFeed({
    source,
    vb,
    position: 0,
    knownPurge: 0,
    clock,
    delayed: new DelayedWork(clock),
    sink: aSink((batch) => sent.push(batch)),
    history: () => new Uint8Array(0),
    isUrgent: () => isUrgent,
    tooOld: () => assert.fail('nothing was purged'),
    failed: assert.fail,
  });
  feed.changed();
  assert.deepEqual(sent, [], 'no client waits for it');
  isUrgent = true;
  feed.changed();
  assert.deepEqual(sent, [{ start: 1, to: 3, end: 3, live: true, isAwaited: true, awaitsDisk: false }]);
  feed.close();
});

test('the memory of a page is freed once the page is sent', async () => {
  let freed = 0;
  let sent: (() => void) | undefined;
  const page = { ...aPage(3), free: () => freed++ };
  const source = {
    follow: () => {},
    unfollow: () => {},
    highSeqno: () => 3,
    awaitsCopiesOnDisk: () => false,
    hasRecent: () => false,
    backfillForCopy: () => Promise.resolve(page),
  } as Partial<ChangeSource> as ChangeSource;
  const clock = new ManualClock();
  const feed = new VbucketFeed({
    source,
    vb,
    position: 0,
    knownPurge: 0,
    clock,
    delayed: new DelayedWork(clock),
    sink: {
      ...aSink(() => assert.fail('a page is expected')),
      page: (_, __, page) => void (sent = page.sent),
    },
    history: () => new Uint8Array(0),
    isUrgent: () => false,
    tooOld: () => assert.fail('nothing was purged'),
    failed: assert.fail,
  });
  feed.start();
  await turn();
  assert.ok(sent);
  assert.equal(freed, 0);
  sent();
  assert.equal(freed, 1);
  feed.close();
});

test('a copy that begins from nothing misses no deletion that was purged before, however many pages it gets', async () => {
  const purged = { seqno: 8 };
  const missed = { count: 0 };
  const feed = (position: number): VbucketFeed => {
    const started = new VbucketFeed({
      source: {
        follow: () => {},
        unfollow: () => {},
        highSeqno: () => 10,
        visibleSeqno: () => 10,
        awaitsCopiesOnDisk: () => false,
        hasRecent: () => false,
        backfillForCopy: async (_, after) => aPage(after + 5, purged.seqno),
      } as Partial<ChangeSource> as ChangeSource,
      vb,
      position,
      knownPurge: position === 0 ? purged.seqno : 0,
      clock: new ManualClock(),
      delayed: new DelayedWork(new ManualClock()),
      sink: aSink(() => {}),
      history: () => new Uint8Array(0),
      isUrgent: () => false,
      tooOld: () => {
        missed.count++;
        started.close();
      },
      failed: assert.fail,
    });
    started.start();
    return started;
  };
  const fromNothing = feed(0);
  await turn();
  fromNothing.resume();
  await turn();
  assert.deepEqual([fromNothing.position, missed.count], [10, 0]);

  const overtaken = feed(0);
  await turn();
  purged.seqno = 9;
  overtaken.resume();
  await turn();
  assert.deepEqual([overtaken.position, missed.count], [5, 1], 'a deletion was purged after the first page');

  feed(4);
  await turn();
  assert.equal(missed.count, 2, 'the copy had documents before the deletion was purged');
});
