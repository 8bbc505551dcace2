import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { CutWriter } from '../data/cut.ts';
import { CopyFeed } from './copy-feed.ts';
import { DelayedWork } from './delayed-work.ts';
import type { Open, PeerMessage } from './frames.ts';
import type { PeerConnections } from './peers.ts';

const shard = { bucket: 'b', shard: 0, epoch: 2 };

type Positions = [received: number, persisted: number][];

/** A feed of vbucket 0, whose last seqno is 5, to node c. */
function aFeed(
  sent: PeerMessage[],
  {
    failed = (reason) => assert.fail(reason),
    reported = [],
    copies = new Set<string>(),
  }: { failed?: (reason: string) => void; reported?: Positions; copies?: Set<string> } = {},
): CopyFeed {
  const peers: Partial<PeerConnections> = {
    send: (_, message) => sent.push(message),
    bootOf: () => 'c 1',
    mayFeed: () => true,
  };
  const bucket = {
    history: () => new Uint8Array(),
    progress: {
      discardCopy: () => {},
      discardCopies: (isDiscarded: (copy: string) => boolean) => {
        for (const copy of copies) if (isDiscarded(copy)) copies.delete(copy);
      },
      copied: (_vb: number, _node: string, received: number, persisted: number) =>
        reported.push([received, persisted]),
    },
    changes: {
      failoverLog: () => [],
      purgeSeqno: () => 0,
      highSeqno: () => 5,
      visibleSeqno: () => 5,
      hasRecent: () => false,
      backfillForCopy: () => new Promise(() => {}),
      follow: () => {},
      unfollow: () => {},
    },
  };
  return new CopyFeed({
    cuts: new CutWriter(),
    delayed: new DelayedWork(new SimulatedClock()),
    isUrgent: () => false,
    node: 'c',
    shard,
    incarnation: 1,
    vbs: [0],
    clock: new SimulatedClock(),
    peers: peers as PeerConnections,
    bucket: bucket as unknown as Bucket,
    diverged: () => {},
    follows: () => {},
    failed,
  });
}

test('an answer to an earlier feed is ignored: the copy may have been emptied since', () => {
  const sent: PeerMessage[] = [];
  const [earlier, feed] = [aFeed(sent), aFeed(sent)];
  earlier.open();
  feed.open();
  const rows = [{ vb: 0, high: 0, persisted: 0, failover: '' }];
  const [first, second] = (sent as Open[]).map((open) => open.feed);
  feed.opened({ kind: 'opened', ...shard, rows, feed: first as number });
  assert.equal(feed.boot, null);
  feed.opened({ kind: 'opened', ...shard, rows, feed: second as number });
  assert.equal(feed.boot, 'c 1');
  feed.close();
});

test('an answer of a process discards what earlier processes of the node reported, and nothing of other nodes', () => {
  const copies = new Set(['c c 0', 'c c 1', 'cc 0', 'd 0']);
  const feed = aFeed([], { copies });
  feed.open();
  feed.opened({ kind: 'opened', ...shard, rows: [{ vb: 0, high: 0, persisted: 0, failover: '' }] });
  assert.deepEqual([...copies], ['c c 1', 'cc 0', 'd 0']);
  feed.close();
});

test('an answer without a feed number, as older nodes send it, is accepted', () => {
  const feed = aFeed([]);
  feed.open();
  feed.opened({ kind: 'opened', ...shard, rows: [{ vb: 0, high: 0, persisted: 0, failover: '' }] });
  assert.equal(feed.boot, 'c 1');
  feed.close();
});

const row = { vb: 0, high: 0, persisted: 0, failover: '' };
const got = { shard: 0, epoch: 2, vb: 0, following: false };

test('positions that the copy cannot have are refused: with them later writes would count as received', () => {
  const reported: Positions = [];
  const feed = aFeed([], { reported });
  feed.open();
  feed.opened({ kind: 'opened', ...shard, rows: [{ ...row, persisted: 7 }] });
  feed.positionReported({ ...got, received: 5, persisted: 9 });
  assert.deepEqual(reported.splice(0), [
    [0, 0],
    [5, 5],
  ]);
  assert.throws(() => feed.positionReported({ ...got, received: 6, persisted: 0 }), {
    message: 'the copy reports seqno 6 of vbucket 0, of which 5 is the last',
  });
  feed.positionReported({ ...got, vb: 1, received: 6, persisted: 0 });
  assert.deepEqual(reported, []);
  feed.close();
});

test('a copy that names vbuckets twice, or of another shard, is not fed', () => {
  const reasons: string[] = [];
  const rowsOf = { twice: [row, row], another: [{ ...row, vb: 1 }] };
  for (const rows of Object.values(rowsOf)) {
    const feed = aFeed([], { failed: (reason) => reasons.push(reason) });
    feed.open();
    feed.opened({ kind: 'opened', ...shard, rows });
    assert.equal(feed.isFollowing, false);
    feed.close();
  }
  assert.deepEqual(reasons, [
    'the copy names a vbucket twice',
    'the copy names vbucket 1, which is not of this shard',
  ]);
});
