import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardCheckpoint } from '../xdcr.contract.ts';
import { Checkpoints } from './checkpoints.ts';

const mark = {
  source: { uuid: 1n, seqno: 5, snapshotStart: 5, snapshotEnd: 5 },
  target: { uuid: 2n, seqno: 5 },
};

function aStore() {
  const shards = new Map<number, ShardCheckpoint>();
  const store = {
    load: async () => [...shards.values()],
    save: async (_: string, checkpoint: ShardCheckpoint) => void shards.set(checkpoint.shard, checkpoint),
  };
  return (filterEpochs: readonly string[]) =>
    new Checkpoints({ replication: 'r', sourceBucketUuid: 's', filterEpochs, store });
}

test('checkpoints count only for the filter that they were made with, and those that continue it', async () => {
  const open = aStore();
  const first = open(['a']);
  await first.load('t');
  first.set(3, mark);
  await first.save();
  for (const [epochs, isKept] of [
    [['a'], true],
    [['b', 'a'], true],
    [['b'], false],
    [[''], false],
  ] as const) {
    const opened = open(epochs);
    await opened.load('t');
    assert.equal(opened.get(3) !== undefined, isKept, epochs.join());
  }
});

test('a running replication keeps its marks only under a filter that continues', async () => {
  const checkpoints = aStore()(['a']);
  await checkpoints.load('t');
  checkpoints.set(3, mark);
  checkpoints.useFilter(['b', 'a']);
  assert.notEqual(checkpoints.get(3), undefined);
  checkpoints.useFilter(['c']);
  assert.equal(checkpoints.get(3), undefined);
});
