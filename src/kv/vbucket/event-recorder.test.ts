import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Manifest, ShardSpec } from '#kv/admin.ts';
import { Status } from '#wire/status.ts';
import { BucketUnderTest } from '../../../test/support/a-bucket.ts';
import { SteppedClock } from '../../../test/support/stepped-clock.ts';
import { CutReader } from '../data/cut.ts';
import { decodeEvent, isDrop, isEventKey } from '../data/system-events.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { turnLimits } from '../turn-clock.ts';
import { EventRecorder } from './event-recorder.ts';
import type { CollectionSpec } from './live-collections.ts';
import { LiveCollections } from './live-collections.ts';
import type { ManifestState } from './manifest-state.ts';
import { Now } from './now.ts';
import { Vbuckets } from './vbuckets.ts';

const firstId = 8;
const count = 1_200;
const lastVb = 63;
/** Above the number of events that the recorder writes in a turn, because it finishes the step that it has begun. */
const perTurnMax = 1_024;

/** Collections `from` to `to`. */
const manifestOf = (uid: string, to: number, from = 0): Manifest => ({
  uid,
  scopes: [
    {
      name: '_default',
      uid: '0',
      collections: [
        { name: '_default', uid: '0' },
        ...Array.from({ length: to - from }, (_, i) => ({
          name: `c${from + i}`,
          uid: (firstId + from + i).toString(16),
        })),
      ],
    },
  ],
});

async function aStartedBucket(): Promise<{ b: BucketUnderTest; clock: SteppedClock }> {
  const clock = new SteppedClock();
  return { b: await new BucketUnderTest({ clock }).start(), clock };
}

async function finish(clock: SteppedClock): Promise<void> {
  for (let turn = 0; clock.hasDeferred; turn++) {
    assert.ok(turn < 10_000, 'the events end');
    await clock.turn();
  }
}

async function turning<T>(clock: SteppedClock, result: Promise<T>): Promise<T> {
  let isDone = false;
  const end = (): void => void (isDone = true);
  result.then(end, end);
  for (let turn = 0; !isDone; turn++) {
    assert.ok(turn < 10_000, 'the work ends');
    await clock.turn();
  }
  return result;
}

const seqnos = (b: BucketUnderTest): number[] =>
  Array.from({ length: lastVb + 1 }, (_, vb) => b.bucket.documents.highSeqno(vb));

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Ids of the collections that exist at the end of a vbucket's history. */
async function recordedIn(b: BucketUnderTest, clock: SteppedClock, vb: number): Promise<number[]> {
  const ids = new Set<number>();
  for (let [after, end] = [0, 1]; after < end; ) {
    const page = await turning(clock, b.bucket.changes.backfill(vb, after));
    const reader = new CutReader(page.batch);
    while (reader.nextCut()) while (reader.nextItem()) applyEvent(reader, ids);
    [after, end] = [page.toSeqno, page.endSeqno];
  }
  return [...ids].sort((a, b) => a - b);
}

function applyEvent({ item }: CutReader, ids: Set<number>): void {
  if (!isEventKey(item.buffer, item.keyStart)) return;
  const { kind, collectionId } = decodeEvent(item.buffer, item.valueStart, item.valueEnd);
  if (isDrop(kind)) ids.delete(collectionId);
  else ids.add(collectionId);
}

const idsOf = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, i) => firstId + from + i);

test('the events of 1,200 collections are recorded in slices, and those of a vbucket before a client uses it', async () => {
  const { b, clock } = await aStartedBucket();
  b.bucket.applyManifest(manifestOf('1', count));
  assert.ok(sum(seqnos(b)) <= perTurnMax, `${sum(seqnos(b))} in the first turn`);
  assert.equal(b.store(`${firstId}:k`, { vb: lastVb }), Status.success);
  assert.equal(b.bucket.documents.highSeqno(lastVb), count + 1);
  for (let before = sum(seqnos(b)); clock.hasDeferred; before = sum(seqnos(b))) {
    await clock.turn();
    assert.ok(sum(seqnos(b)) - before <= perTurnMax, `${sum(seqnos(b)) - before} in a turn`);
  }
  assert.deepEqual(
    seqnos(b),
    Array.from({ length: lastVb + 1 }, (_, vb) => (vb === lastVb ? count + 1 : count)),
  );
});

test('every vbucket records the newest of the manifests that arrive while others are recorded', async () => {
  const { b, clock } = await aStartedBucket();
  b.bucket.applyManifest(manifestOf('1', count));
  await clock.turn();
  b.bucket.applyManifest(manifestOf('2', count, 300));
  await clock.turn();
  b.bucket.applyManifest(manifestOf('3', count + 10, 200));
  await finish(clock);
  const [first = 0, ...others] = seqnos(b);
  assert.ok(first > count, 'the first vbucket recorded a part of the first manifest');
  assert.equal(others.at(-1), count + 300 + 110);
  for (const vb of [0, 1, 30, lastVb])
    assert.deepEqual(await recordedIn(b, clock, vb), idsOf(200, count + 10), `vbucket ${vb}`);
});

test('nothing more is recorded in a vbucket that becomes a copy, and what it lacks when it is active again', async () => {
  const { b, clock } = await aStartedBucket();
  const shards = (state: 'active' | 'replica', epoch: number): ShardSpec[] =>
    Array.from({ length: lastVb + 1 }, (_, shard) => ({
      state: shard === lastVb ? state : 'active',
      epoch,
      replicas: [],
    }));
  b.bucket.applyManifest(manifestOf('1', count));
  await b.bucket.followShards(shards('replica', 2));
  await finish(clock);
  assert.deepEqual([...new Set(seqnos(b))], [count, 0]);
  await b.bucket.followShards(shards('active', 3));
  await finish(clock);
  assert.deepEqual(await recordedIn(b, clock, lastVb), idsOf(0, count));
});

test('a flush while events are recorded leaves a history of the newest collections only', async () => {
  const { b, clock } = await aStartedBucket();
  b.bucket.applyManifest(manifestOf('1', count));
  await clock.turn();
  await turning(clock, b.bucket.flush(2));
  await finish(clock);
  assert.deepEqual([...new Set(seqnos(b))], [count]);
});

test('the documents of a dropped collection are freed after its drop is recorded', async () => {
  const { b, clock } = await aStartedBucket();
  b.bucket.applyManifest(manifestOf('1', count));
  await finish(clock);
  for (const vb of [0, lastVb]) b.store(`${firstId}:k`, { vb });
  b.bucket.applyManifest(manifestOf('2', count, 600));
  await finish(clock);
  b.tick(1_000);
  await finish(clock);
  assert.equal(b.bucket.stats().items, 0);
  for (const vb of [0, lastVb]) {
    const page = await turning(clock, b.bucket.changes.backfill(vb, count + 600));
    const reader = new CutReader(page.batch);
    const isEvent: boolean[] = [];
    while (reader.nextCut())
      while (reader.nextItem()) isEvent.push(isEventKey(reader.item.buffer, reader.item.keyStart));
    assert.ok(
      isEvent.indexOf(false) < 0 || isEvent.indexOf(false) > isEvent.lastIndexOf(true),
      `vbucket ${vb}`,
    );
  }
});

class CountedVbuckets extends Vbuckets {
  /** The number of writes for which there is memory. */
  room = Infinity;
  discarded = 0;

  constructor() {
    const collections = new LiveCollections();
    collections.apply([{ id: 0, maxTtl: 0 }] satisfies CollectionSpec[]);
    super({ count: 64, now: new Now(), collections, hashSeed: 1, isPersistent: true });
    this.columns.state.fill(VbucketState.active);
  }

  override write(...args: Parameters<Vbuckets['write']>): boolean {
    return this.room-- > 0 && super.write(...args);
  }

  override discard(...args: Parameters<Vbuckets['discard']>): void {
    this.discarded++;
    super.discard(...args);
  }
}

const stateOf = (uid: number, ids: readonly number[]): ManifestState => ({
  uid,
  scopes: new Map([[0, '_default']]),
  collections: new Map([0, ...ids].map((id) => [id, { scopeId: 0, name: `c${id}`, maxTtl: 0 }])),
});

test('the recorder continues where it stopped once there is memory again', async () => {
  const clock = new SteppedClock();
  const vbuckets = new CountedVbuckets();
  const events = new EventRecorder({ vbuckets, clock, isPersistent: false, onDirty: () => {} });
  vbuckets.room = 5;
  events.record([0, 1], stateOf(1, [8, 9, 10]));
  assert.equal(events.isBehind, true);
  assert.equal(events.catchUp(0), true);
  assert.equal(events.catchUp(1), false);
  vbuckets.room = Infinity;
  // Vbucket 1 has recorded collections 8 and 9, and continues with 10.
  events.record([0, 1], stateOf(2, [9, 11]));
  clock.advance(1_000);
  await finish(clock);
  assert.equal(events.isBehind, false);
  assert.deepEqual([...vbuckets.columns.highSeqno].slice(0, 3), [3 + 3, 3 + 3, 0]);
});

test('a wait for events ends once all are recorded, after its limit, or when the bucket stops', async () => {
  const clock = new SteppedClock();
  const vbuckets = new CountedVbuckets();
  const events = new EventRecorder({ vbuckets, clock, isPersistent: false, onDirty: () => {} });
  const ended: string[] = [];
  const wait = (name: string): void => events.whenRecordedOrAfter(5_000, () => void ended.push(name));
  wait('at once');
  vbuckets.room = 0;
  events.record([0], stateOf(1, [8]));
  wait('after its limit');
  clock.advance(4_900);
  assert.deepEqual(ended, ['at once']);
  clock.advance(200);
  assert.deepEqual(ended, ['at once', 'after its limit']);
  wait('once recorded');
  vbuckets.room = Infinity;
  clock.advance(1_000);
  await finish(clock);
  assert.deepEqual(ended.slice(2), ['once recorded']);
  vbuckets.room = 0;
  events.record([0], stateOf(2, [8, 9]));
  wait('at the stop');
  events.stop();
  clock.advance(10_000);
  assert.deepEqual(ended.slice(3), ['at the stop']);
});

test('the events that a call must wait for count as work of the turn', async () => {
  const vbuckets = new CountedVbuckets();
  let workBytes = 0;
  const countWork = (bytes: number): void => void (workBytes += bytes);
  const clock = new SteppedClock();
  const events = new EventRecorder({ vbuckets, clock, countWork, isPersistent: false, onDirty: () => {} });
  events.record([...vbuckets.columns.state.keys()], stateOf(1, idsOf(0, count)));
  const before = workBytes;
  assert.equal(events.catchUp(lastVb), true);
  assert.ok(workBytes - before > turnLimits.workBytes, `${workBytes - before} bytes of work`);
});

test('the events of a commit are removed from memory in slices', async () => {
  const clock = new SteppedClock();
  const vbuckets = new CountedVbuckets();
  const events = new EventRecorder({ vbuckets, clock, isPersistent: true, onDirty: () => {} });
  const vbs = Array.from({ length: 64 }, (_, vb) => vb);
  events.record(vbs, stateOf(1, idsOf(0, 100)));
  await finish(clock);
  for (const vb of vbs) events.persisted(vb, vb === lastVb ? 30 : 100);
  assert.ok(clock.hasDeferred);
  for (let before = 0; clock.hasDeferred; before = vbuckets.discarded) {
    await clock.turn();
    assert.ok(vbuckets.discarded - before <= perTurnMax, `${vbuckets.discarded - before} in a turn`);
  }
  assert.equal(vbuckets.discarded, 63 * 100 + 30);
});
