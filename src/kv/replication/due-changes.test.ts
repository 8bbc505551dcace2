// Which changes of the map are written together, and which wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardChange } from '../admin.ts';
import { dueChanges } from './due-changes.ts';

const join: ShardChange = { kind: 'join', shard: 0, epoch: 1, member: { node: 'b', boot: 'b 1' } };
const leave: ShardChange = { kind: 'leave', shard: 1, epoch: 1, node: 'b' };
const stop: ShardChange = { kind: 'stop', shard: 2, epoch: 1, successor: 'b', isComplete: true };

const active = (change: ShardChange | null, isUnderWay = false) => ({
  handover: { isUnderWay },
  wantedChange: () => change,
});

test('a copy joins with the stop of a shard that is being handed over, and not just before it', () => {
  const others = [active(join), active(null), active(leave)];
  assert.deepEqual(dueChanges([], others), [join, leave]);
  assert.deepEqual(dueChanges([], [...others, active(null, true)]), [leave]);
  assert.deepEqual(dueChanges([], [...others, active(stop, true)]), [join, leave, stop]);
});
