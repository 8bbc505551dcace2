// Which handovers of a bucket run concurrently.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ShardSpec } from '../admin.ts';
import { Handovers } from './handovers.ts';

const specs = (confirmed: readonly number[]): ShardSpec[] =>
  Array.from({ length: 6 }, (_, shard) => ({
    state: 'dead',
    replicas: [],
    epoch: confirmed.includes(shard) ? 2 : 1,
    confirmed: 'boot',
  }));

test('two handovers begin in one check, the next ones when the successors have confirmed', () => {
  const clock = new ManualClock();
  const handovers = new Handovers(clock);
  const begin = (shard: number): boolean => {
    // Time passes during a check, too.
    clock.advance(0.01);
    return handovers.begin(shard, 1);
  };
  const begun = (): number[] => [0, 1, 2, 3, 4, 5].filter(begin);
  handovers.beginCheck();
  assert.deepEqual(begun(), [0, 1]);
  clock.advance(5);
  handovers.beginCheck();
  handovers.follow(specs([0]));
  assert.equal(handovers.begin(2, 1), false, 'a third handover began while two are under way');
  handovers.follow(specs([0, 1]));
  assert.deepEqual(begun(), [0, 1]);
});

test('a handover does not wait for an abandoned handover, and waits about a second for a successor that does not confirm', () => {
  const clock = new ManualClock();
  const handovers = new Handovers(clock);
  handovers.beginCheck();
  assert.equal(handovers.begin(0, 1), true);
  clock.advance(100);
  handovers.beginCheck();
  assert.equal(handovers.begin(1, 1), false);
  handovers.abandon(0);
  assert.equal(handovers.begin(1, 1), true);
  clock.advance(1_001);
  handovers.beginCheck();
  assert.equal(handovers.begin(2, 1), true);
});
