// While clients write to a shard without a pause, a copy always lacks the newest changes. Nevertheless it has to join the in-sync set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aSeed } from '../../../test/support/random.ts';
import {
  type ReplicatedNode as Node,
  ReplicatedCluster,
  servingMs,
} from '../../../test/support/replicated-cluster.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { JoiningCopy } from './joining-copy.ts';

const majority = { durability: DurabilityLevel.majority } as const;

/** Writes one key each millisecond of simulated time. */
async function writeFor(cluster: ReplicatedCluster, node: Node, ms: number): Promise<void> {
  for (let i = 0; i < ms; i++) {
    assert.equal(node.store('written', 0), Status.success);
    await cluster.clock.run(1);
  }
}

const membersOf = async (cluster: ReplicatedCluster): Promise<number[]> =>
  ((await cluster.map.shards())[0]?.inSync ?? []).map(([position]) => position).toSorted();

test('a copy joins an in-sync set of the active alone, although clients write to the shard all the time', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const a = await cluster.start('a');
  await cluster.clock.run(servingMs);
  const b = await cluster.start('b');
  await writeFor(cluster, a, 2_000);
  assert.deepEqual(await membersOf(cluster), [0, 1]);
  assert.equal(a.store('last', 0, majority), Status.success);
  const token = a.result.pending;
  await writeFor(cluster, a, 100);
  assert.equal(a.resolved.get(token), Status.success);
  assert.notEqual(b.read('last', 0), Status.keyNotFound, 'the copy in the set lacks a committed write');
  for (const node of [a, b]) node.crash();
});

/** A shard of one vbucket whose copy has received what the test says. */
function aShard() {
  const clock = new ManualClock();
  const state = { high: 100, committed: 100, received: 0 };
  const highSeqno = {
    get 0() {
      return state.high;
    },
  };
  const progress = { receivedSeqno: () => state.received, committedSeqno: () => state.committed };
  const joining = new JoiningCopy({
    vbs: [0],
    clock,
    bucket: { columns: { highSeqno }, progress } as unknown as Bucket,
  });
  return { clock, state, joining };
}

const copy = { node: 'c', boot: 'c 1' };

test('commits wait for a joining copy only once it has all changes but the newest', () => {
  const { clock, joining, state } = aShard();
  for (let i = 0; i < 20; i++) {
    assert.equal(joining.completeCandidate([copy]), null);
    assert.equal(joining.beginWait([copy]), false, 'commits wait for a copy that lacks a second of changes');
    clock.advance(200);
    state.high = state.committed += 100;
    state.received = state.high - 500;
  }
  state.received = state.high - 1;
  assert.equal(joining.beginWait([copy]), true);
  assert.deepEqual(joining.member, copy);
  assert.equal(joining.completeCandidate([copy]), null, 'one committed write is missing');
  state.received = state.committed;
  assert.deepEqual(joining.completeCandidate([copy]), copy);
});

test('commits wait at most half a second for a joining copy, and again only two seconds later', () => {
  const { clock, joining, state } = aShard();
  const write = (): void => {
    state.received = state.high;
    state.high = state.committed += 1;
  };
  joining.beginWait([copy]);
  write();
  assert.equal(joining.beginWait([copy]), true);
  clock.advance(500);
  joining.follow([copy]);
  assert.deepEqual(joining.member, copy);
  clock.advance(1);
  joining.follow([copy]);
  assert.equal(joining.member, null);
  for (let ms = 0; ms < 2_000; ms += 100) {
    assert.equal(joining.beginWait([copy]), false);
    write();
    clock.advance(100);
  }
  joining.beginWait([copy]);
  write();
  assert.equal(joining.beginWait([copy]), true);
});

test('commits no longer wait for a joining copy whose process ended', () => {
  const { joining, state } = aShard();
  joining.beginWait([copy]);
  state.received = state.high;
  state.high = state.committed += 1;
  assert.equal(joining.beginWait([copy]), true);
  joining.follow([{ ...copy, boot: 'c 2' }]);
  assert.equal(joining.member, null);
});
