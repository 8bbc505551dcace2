import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { CutWriter } from '../data/cut.ts';
import { CopyFeed } from './copy-feed.ts';
import { Delayed } from './delayed.ts';
import type { Open, PeerMessage } from './frames.ts';
import type { PeerConnections } from './peers.ts';

const shard = { bucket: 'b', shard: 0, epoch: 2 };

/** A feed of vbucket 0 to node c, which has no change yet. */
function aFeed(sent: PeerMessage[]): CopyFeed {
  const peers: Partial<PeerConnections> = {
    send: (_, message) => sent.push(message),
    bootOf: () => 'c 1',
    mayFeed: () => true,
  };
  const bucket = {
    progress: { discardCopy: () => {}, copied: () => {} },
    changes: { failoverLog: () => [], highSeqno: () => 0, follow: () => {}, unfollow: () => {} },
  };
  return new CopyFeed({
    cuts: new CutWriter(),
    delayed: new Delayed(new SimulatedClock()),
    ...{ node: 'c', shard, incarnation: 1, rows: [0], clock: new SimulatedClock() },
    peers: peers as PeerConnections,
    bucket: bucket as unknown as Bucket,
    diverged: () => {},
    failed: (reason) => assert.fail(reason),
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

test('accepts an answer without a feed number, as older nodes send it', () => {
  const feed = aFeed([]);
  feed.open();
  feed.opened({ kind: 'opened', ...shard, rows: [{ vb: 0, high: 0, persisted: 0, failover: '' }] });
  assert.equal(feed.boot, 'c 1');
  feed.close();
});
