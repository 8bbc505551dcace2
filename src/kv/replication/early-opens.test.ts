import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { EarlyOpens, earlyOpensMax } from './early-opens.ts';
import type { Open } from './frames.ts';

const anOpen = (shard: number, bucket = 'b', epoch = 1): Open => ({
  kind: 'open',
  bucket,
  shard,
  epoch,
  incarnation: 1,
  feed: shard,
});
const shardsIn = (early: EarlyOpens, bucket = 'b'): number[] =>
  early.drain(bucket).map(({ open }) => open.shard);

test('early requests of a bucket are returned once, except those that were answered, or whose connection was lost', () => {
  const early = new EarlyOpens(new SimulatedClock());
  early.add('a', anOpen(0));
  early.add('a', anOpen(1));
  early.add('c', anOpen(2));
  early.add('c', anOpen(3));
  early.add('c', anOpen(4, 'other'));
  early.add('a', anOpen(3));
  early.remove(anOpen(1));
  early.discard('c');
  assert.deepEqual(shardsIn(early), [0, 3]);
  assert.deepEqual([shardsIn(early), shardsIn(early, 'other')], [[], []]);
});

test('a request that was put back keeps its age: after a second it is not returned, since its active asks again', async () => {
  const clock = new SimulatedClock();
  const early = new EarlyOpens(clock);
  early.add('a', anOpen(0));
  await clock.run(900);
  const [first] = early.drain('b');
  early.add('a', anOpen(0), first?.sinceMs);
  early.add('a', anOpen(1));
  await clock.run(200);
  assert.deepEqual(shardsIn(early), [1]);
});

test('the request of the later active is kept, in any order in which the requests arrive', () => {
  for (const epochs of [
    [1, 2],
    [2, 1],
  ] as const) {
    const early = new EarlyOpens(new SimulatedClock());
    for (const epoch of epochs) early.add(`active ${epoch}`, anOpen(0, 'b', epoch));
    assert.deepEqual(
      early.drain('b').map(({ node }) => node),
      ['active 2'],
    );
  }
});

test('the number of early requests is bounded', () => {
  const early = new EarlyOpens(new SimulatedClock());
  for (let shard = 0; shard <= earlyOpensMax; shard++) early.add('a', anOpen(shard));
  early.add('a', anOpen(earlyOpensMax));
  assert.deepEqual(shardsIn(early), [earlyOpensMax]);
});
