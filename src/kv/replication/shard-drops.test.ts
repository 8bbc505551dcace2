// When a node removes the shards that the map no longer gives to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ShardSpec } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { ShardDrops } from './shard-drops.ts';

const aMap = (): ShardSpec[] => [{ state: 'dead', epoch: 2, replicas: [] }];

function someDrops() {
  const clock = new ManualClock();
  const documents = { memUsed: 0 };
  const bucket = { documents, rules: { quotaBytes: 100 }, columns: { highSeqno: [5] } } as unknown as Bucket;
  const peers = { answeredMs: () => 0, isInCluster: () => false };
  const ends = { keepsCopies: () => false, ended: () => {}, log: silentLog };
  const drops = new ShardDrops({ uuid: 'b', bucket, peers, clock, ...ends });
  const isDue = (map: readonly ShardSpec[]): boolean => {
    const leftovers = drops.leftovers(map, 'a', () => [0]);
    assert.deepEqual(leftovers, [0]);
    return drops.becomeDue(leftovers);
  };
  return { clock, documents, isDue };
}

test('removals wait until the map has not changed for half a second', () => {
  const { clock, isDue } = someDrops();
  let map = aMap();
  for (let ms = 0; ms < 2_000; ms += 100) {
    assert.equal(isDue(map), false);
    clock.advance(100);
    map = aMap();
  }
  assert.equal(isDue(map), false);
  clock.advance(499);
  assert.equal(isDue(map), false);
  clock.advance(1);
  assert.equal(isDue(map), true);
  assert.equal(
    isDue(aMap()),
    true,
    'the removal is not due any more after the node has written an equal map',
  );
});

test('removals wait for five seconds at most, and not while memory is needed', () => {
  const { clock, isDue } = someDrops();
  for (let ms = 0; ms < 5_000; ms += 100) {
    assert.equal(isDue(aMap()), false);
    clock.advance(100);
  }
  assert.equal(isDue(aMap()), true);
  const other = someDrops();
  assert.equal(other.isDue(aMap()), false);
  other.documents.memUsed = 75;
  assert.equal(other.isDue(aMap()), true);
});
