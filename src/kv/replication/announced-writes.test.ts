// When a node writes the documents of shards that are to be handed over to it, and when other documents wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ShardSpec } from '../admin.ts';
import { AnnouncedWrites, epochWaitMsMax } from './announced-writes.ts';

const self = { node: 'c', boot: 'c 1' };
const copy: ShardSpec = { state: 'replica', epoch: 1, replicas: ['c'], active: 'a' };
const announced: ShardSpec = { ...copy, successor: 'c' };
const named: ShardSpec = { ...copy, state: 'active', epoch: 2, active: 'c' };
const confirmed: ShardSpec = { ...named, confirmed: 'c 1' };

/**
 * Each write of documents lasts until `writeDone` is called. Vbucket 10 is of shard 1. `checkpoints` gets a sign for each call of
 * `delayDiskWork`: `-` if checkpoints are delayed, `+` if they are made.
 */
function started() {
  const clock = new ManualClock();
  const written: string[] = [];
  const state = { isDelayed: false, checkpoints: '' };
  let done = (): void => {};
  const writes = new AnnouncedWrites({
    bucket: {
      delayDiskWork: ({ checkpoints, flushes }) => {
        state.isDelayed = flushes;
        state.checkpoints += checkpoints ? '-' : '+';
      },
      writeStates: async (vbs) => {
        written.push(vbs.join());
        await new Promise<void>((resolve) => {
          done = resolve;
        });
        return vbs;
      },
    },
    self,
    vbsOf: (shard) => [shard * 10],
    clock,
  });
  const writeDone = async (): Promise<void> => {
    done();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, state, writeDone, writes, written };
}

test('the documents of a copy are written once when it is named as the successor', async () => {
  const { writeDone, writes, written } = started();
  writes.follow([{ ...announced, successor: 'd' }]);
  assert.deepEqual(written, []);
  for (let i = 0; i < 2; i++) writes.follow([announced]);
  assert.deepEqual(written, ['0']);
  await writeDone();
  writes.follow([copy]);
  writes.follow([announced]);
  assert.deepEqual(written, ['0', '0']);
});

test('other documents wait from when a shard is announced until its epoch is written', async () => {
  const { state, writeDone, writes, written } = started();
  writes.follow([announced, copy]);
  assert.ok(state.isDelayed);
  await writeDone();
  writes.follow([named, announced]);
  assert.deepEqual([state.isDelayed, written], [true, ['0']], 'the documents of shard 1 wait, too');
  writes.epochsWritten([0]);
  assert.deepEqual([state.isDelayed, written], [true, ['0', '10']]);
  assert.match(state.checkpoints, /^\+?-+\+-+$/, 'checkpoints are made between the two');
  writes.follow([confirmed, announced]);
  await writeDone();
  writes.follow([confirmed, copy]);
  assert.ok(!state.isDelayed);
});

test('other documents do not wait for a shard that is not handed over after all, or for long', async () => {
  const { clock, state, writeDone, writes, written } = started();
  writes.follow([announced, copy]);
  await writeDone();
  writes.follow([copy, announced]);
  assert.deepEqual(written, ['0', '10']);
  await writeDone();
  clock.advance(epochWaitMsMax - 1);
  assert.ok(state.isDelayed);
  clock.advance(1);
  assert.ok(!state.isDelayed);
});

test('shards that are announced while documents are written are written together', async () => {
  const { clock, state, writeDone, writes, written } = started();
  writes.follow([announced, copy, copy]);
  writes.follow([announced, announced, announced]);
  await writeDone();
  assert.deepEqual(written, ['0']);
  clock.advance(epochWaitMsMax);
  assert.deepEqual(written, ['0', '10,20']);
  writes.close();
  await writeDone();
  assert.ok(!state.isDelayed);
});
