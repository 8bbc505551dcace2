import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { BucketState } from '../data/keyspaces.ts';
import { AwaitedKeyspaces, awaitedMs } from './awaited-keyspaces.ts';

const planned = [
  { bucket: 'a', scopes: [] },
  { bucket: 'b', scopes: [{ name: 's', collections: ['c', 'd'] }] },
];

function aBucket(name: string, collections: readonly string[] = []): BucketState {
  const scopes = [
    { name: 's', uid: '8', collections: collections.map((each) => ({ name: each, uid: '9' })) },
  ];
  return { name, uuid: name, incarnation: 0, type: 'couchbase', scopes };
}

test('requests wait until all planned buckets and collections exist, once', async () => {
  const clock = new ManualClock();
  const awaited = new AwaitedKeyspaces(clock, planned);
  let isMade = false;
  const made = awaited.whenMade()?.then(() => {
    isMade = true;
  });
  for (const buckets of [
    [],
    [aBucket('a')],
    [aBucket('a'), aBucket('b')],
    [aBucket('a'), aBucket('b', ['c'])],
  ]) {
    awaited.follow(buckets);
    await Promise.resolve();
    assert.equal(isMade, false, JSON.stringify(buckets));
  }
  awaited.follow([aBucket('a'), aBucket('b', ['d', 'c'])]);
  await made;
  assert.equal(clock.pending, 0);
  awaited.follow([]);
  assert.equal(awaited.whenMade(), null);
});

test('requests wait for a limited time', async () => {
  const clock = new ManualClock();
  const awaited = new AwaitedKeyspaces(clock, planned);
  const made = awaited.whenMade();
  clock.advance(awaitedMs);
  await made;
  assert.equal(awaited.whenMade(), null);
});

test('without a plan nothing waits', () => {
  assert.equal(new AwaitedKeyspaces(new ManualClock(), []).whenMade(), null);
});

test('requests wait for the buckets that a node without any gets', async () => {
  const awaited = new AwaitedKeyspaces(new ManualClock(), []);
  awaited.follow([]);
  assert.equal(awaited.whenMade(), null);
  for (let round = 0; round < 2; round++) {
    awaited.expect(['a', 'b']);
    const made = awaited.whenMade();
    assert.ok(made !== null);
    awaited.follow([aBucket('a'), aBucket('b')]);
    await made;
    awaited.follow([]); // the node left, or was failed over
    assert.equal(awaited.whenMade(), null);
  }
});
