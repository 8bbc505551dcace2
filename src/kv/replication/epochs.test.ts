// What a node does with messages of an earlier epoch, and with reports that came before its own epoch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import type { ShardChange, ShardSpec } from '../admin.ts';
import { CutWriter, stateOfVbucket } from '../data/cut.ts';
import { DurabilityLevel } from '../data/documents.ts';
import { BucketReplication } from './bucket-replication.ts';
import { copyKey } from './copy-feed.ts';
import { EarlyOpens } from './early-opens.ts';
import type { BatchBody, CopyBatch, Open, PeerMessage, ReportedPosition } from './frames.ts';
import type { PeerConnections } from './peers.ts';
import { rowsOf } from './position-rows.ts';

const cuts = (bytes: Buffer): BatchBody => ({ bytes, start: 0, end: bytes.length, items: -1 });
const noBody = cuts(Buffer.alloc(0));
const majority = { durability: DurabilityLevel.majority } as const;
const self = { node: 'a', boot: 'a 1' };

/** The replication of a bucket with one shard, and what it sends. */
async function replicated(spec: ShardSpec) {
  const b = await new BucketUnderTest({
    vbucketCount: 1,
    shards: [{ state: 'replica', epoch: 1, replicas: [] }],
    rules: { quotaBytes: 2 ** 28, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 1 },
  }).start();
  const sent: PeerMessage[] = [];
  /** The last feed that asked each node. */
  const opens = new Map<string, number>();
  const changes: ShardChange[] = [];
  const peers: Partial<PeerConnections> = {
    needsPromise: false,
    send: (node, message) => {
      sent.push(message);
      if (message.kind === 'open') opens.set(node, message.feed);
    },
    bootOf: (node) => `${node} 1`,
    connected: () => [],
    saysContinued: () => false,
    mayFeed: () => true,
    hasEnded: () => false,
    answeredMs: () => b.clock.monotonicMs(),
    servesUntilMs: () => Infinity,
    promisedUntilMs: () => -Infinity,
    neededPromise: () => false,
  };
  const replication = new BucketReplication({
    uuid: 'b',
    incarnation: 1,
    bucket: b.bucket,
    self,
    log: silentLog,
    clock: b.clock,
    peers: peers as PeerConnections,
    change: (change) => {
      changes.push(...change.changes);
      return new Promise(() => {});
    },
    changed: () => {},
    tick: () => {},
    followsEarlierProcess: true,
    promisedUntilMs: -Infinity,
    early: new EarlyOpens(b.clock),
    keepsCopies: () => false,
  });
  await replication.follow([spec], 1);
  const received = (node: string, message: PeerMessage, body = noBody, bytes = 0): void =>
    replication.received(node, message, body, bytes);
  return { b, sent, opens, changes, replication, received };
}

const open = (epoch: number): Open => ({
  kind: 'open',
  bucket: 'b',
  shard: 0,
  epoch,
  incarnation: 1,
  feed: 1,
});
const copyAt = (epoch: number): ShardSpec => ({ state: 'replica', epoch, replicas: ['a'], active: 'c' });

const activeAt = (epoch: number, ...members: string[]): ShardSpec => ({
  state: 'active',
  epoch,
  replicas: members,
  active: 'a',
  confirmed: 'a 1',
  inSync: [self, ...members.map((node) => ({ node, boot: `${node} 1` }))],
});

test('an active of an earlier epoch is refused, and the refusal names the later epoch', async () => {
  const { sent, received, replication, b } = await replicated(copyAt(3));
  received('c', open(2));
  assert.deepEqual(
    sent.map((message) => [message.kind, 'epoch' in message && message.epoch]),
    [['refused', 3]],
  );
  received('c', open(3));
  assert.equal(sent.at(-1)?.kind, 'opened');
  replication.close();
  await b.bucket.stop();
});

test('a batch of an earlier epoch changes nothing', async () => {
  const { sent, received, replication, b } = await replicated(copyAt(2));
  received('c', open(2));
  // The copy learns of the next epoch while the earlier active still sends.
  received('c', { kind: 'refused', bucket: 'b', shard: 0, epoch: 3, rows: [] });
  const writer = new CutWriter();
  writer.begin(0);
  writer.finish(stateOfVbucket(0));
  const batch: CopyBatch = {
    kind: 'batch',
    bucket: 'b',
    shard: 0,
    epoch: 2,
    vb: 0,
    start: 1,
    to: 5,
    end: 5,
    live: true,
    isAwaited: false,
    awaitsDisk: false,
  };
  received('c', batch, cuts(Buffer.from(writer.takeAll())), 7);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(b.bucket.columns.highSeqno[0], 0);
  const last = sent.at(-1);
  assert.deepEqual([last?.kind, last !== undefined && 'epoch' in last && last.epoch], ['refused', 3]);
  assert.equal(last !== undefined && 'bytes' in last && last.bytes, 7, 'the sender may send as much again');
  replication.close();
  await b.bucket.stop();
});

test('reports of an earlier epoch do not count: what they say may have been rolled back', async () => {
  const { b, opens, received, replication } = await replicated(activeAt(2, 'c', 'd'));
  const fed = (node: string, epoch: number): void =>
    received(node, {
      kind: 'opened',
      bucket: 'b',
      shard: 0,
      epoch,
      feed: opens.get(node) ?? 0,
      rows: [{ vb: 0, high: 0, persisted: 0, failover: '' }],
    });
  const got = (node: string, epoch: number): void => {
    const high = b.bucket.columns.highSeqno[0] as number;
    const row: ReportedPosition = { shard: 0, epoch, vb: 0, received: high, persisted: 0, following: true };
    received(node, { kind: 'got', bucket: 'b', bytes: 0, rows: rowsOf([row]) });
  };
  b.tick(200);
  for (const node of ['c', 'd']) {
    fed(node, 2);
    // The copy reports seqno 10 in this epoch.
    b.bucket.progress.copied(0, copyKey({ node, boot: `${node} 1` }), 10, 0);
  }
  await replication.follow([activeAt(3, 'c', 'd')], 2);
  b.tick(200);
  assert.equal(b.store('k', { vb: 0, ...majority }), Status.success);
  const token = b.result.pending;
  fed('d', 3);
  got('d', 3);
  assert.equal(b.resolved.get(token), undefined, 'node c reported in the earlier epoch only');
  fed('c', 3);
  got('c', 2);
  assert.equal(b.resolved.get(token), undefined, 'a late report of the earlier epoch');
  got('c', 3);
  assert.equal(b.resolved.get(token), Status.success);
  replication.close();
  await b.bucket.stop();
});

test('a copy joins the set once it has what the active has committed', async () => {
  const member = activeAt(2, 'd');
  const { b, changes, opens, received, replication } = await replicated({ ...member, replicas: ['c', 'd'] });
  const got = (node: string, seqno: number): void => {
    const row: ReportedPosition = {
      shard: 0,
      epoch: 2,
      vb: 0,
      received: seqno,
      persisted: 0,
      following: true,
    };
    received(node, { kind: 'got', bucket: 'b', bytes: 0, rows: rowsOf([row]) });
  };
  for (const node of ['c', 'd'])
    received(node, {
      kind: 'opened',
      bucket: 'b',
      shard: 0,
      epoch: 2,
      feed: opens.get(node) ?? 0,
      rows: [{ vb: 0, high: 0, persisted: 0, failover: '' }],
    });
  assert.equal(b.store('k', { vb: 0, ...majority }), Status.success);
  const token = b.result.pending;
  got('d', 1);
  assert.equal(b.resolved.get(token), Status.success);
  b.tick(200);
  assert.deepEqual(
    changes,
    [],
    'a copy that lacks the write joined: it has reached only the end that its feed had when it was opened',
  );
  got('c', 1);
  b.tick(200);
  assert.deepEqual(changes, [{ shard: 0, epoch: 2, kind: 'join', member: { node: 'c', boot: 'c 1' } }]);
  replication.close();
  await b.bucket.stop();
});

test('the feed of a copy that failed is opened again', async () => {
  const { b, opens, received, replication } = await replicated(activeAt(2, 'd'));
  b.tick(200);
  const first = opens.get('d') ?? assert.fail('the active did not ask the copy for its position');
  const row = { vb: 0, high: 0, persisted: 0, failover: '' };
  const opened = { kind: 'opened', bucket: 'b', shard: 0, epoch: 2 } as const;
  received('d', { ...opened, feed: first, rows: [row, row] });
  for (let i = 0; i < 20; i++) b.tick(200);
  const second = opens.get('d') ?? 0;
  assert.ok(second > first);
  received('d', { ...opened, feed: second, rows: [row] });
  for (let i = 0; i < 20; i++) b.tick(200);
  assert.equal(opens.get('d'), second, 'the feed was opened again although the copy is fed');
  replication.close();
  await b.bucket.stop();
});
