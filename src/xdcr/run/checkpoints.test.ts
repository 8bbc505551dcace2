import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CollectionMapping, implicitMapping } from '../mapping/mapping.contract.ts';
import type { ShardCheckpoint } from '../xdcr.contract.ts';
import { Checkpoints, type Mappings } from './checkpoints.ts';

const position = {
  source: { uuid: 1n, seqno: 5, snapshotStart: 5, snapshotEnd: 5 },
  target: { uuid: 2n, seqno: 5 },
};

const implicit: Mappings = { mapping: implicitMapping, formerMappings: [] };

function aStore() {
  const shards = new Map<number, ShardCheckpoint>();
  const store = {
    load: async () => [...shards.values()],
    save: async (_: string, checkpoint: ShardCheckpoint) => void shards.set(checkpoint.shard, checkpoint),
  };
  return (filterEpochs: readonly string[], mappings: Mappings = implicit) =>
    new Checkpoints({ replication: 'r', sourceBucketUuid: 's', filterEpochs, mappings, store });
}

test('checkpoints are used only under the filter that they were made with, and under filters that continue it', async () => {
  const open = aStore();
  const first = open(['a']);
  await first.load('t', [3]);
  first.set(3, position);
  await first.save();
  for (const [epochs, isUsed] of [
    [['a'], true],
    [['b', 'a'], true],
    [['b'], false],
    [[''], false],
  ] as const) {
    const opened = open(epochs);
    await opened.load('t', [3]);
    assert.equal(opened.get(3) !== undefined, isUsed, epochs.join());
  }
});

test('a running replication keeps its positions only if its new filter continues the present one', async () => {
  const checkpoints = aStore()(['a']);
  await checkpoints.load('t', [3]);
  checkpoints.set(3, position);
  checkpoints.useFilter(['b', 'a']);
  assert.notEqual(checkpoints.get(3), undefined);
  checkpoints.useFilter(['c']);
  assert.equal(checkpoints.get(3), undefined);
});

const explicit = (target: string): CollectionMapping => ({ mode: 'explicit', rules: { s: target } });

test('checkpoints under a remembered former mapping are used, and that mapping is named for the comparison of routes', async () => {
  const open = aStore();
  const [a, b, c] = [explicit('a'), explicit('b'), explicit('c')];
  const first = open([''], { mapping: a, formerMappings: [] });
  await first.load('t', [3]);
  first.set(3, position);
  await first.save();
  for (const [mappings, isUsed, outdated] of [
    [{ mapping: a, formerMappings: [b] }, true, []],
    [{ mapping: c, formerMappings: [b, a] }, true, [a]],
    [{ mapping: c, formerMappings: [b] }, false, []],
    [implicit, false, []],
  ] as const) {
    const opened = open([''], mappings);
    await opened.load('t', [3]);
    assert.equal(opened.get(3) !== undefined, isUsed);
    assert.deepEqual(opened.outdatedMappings(), outdated);
  }
});

test('a running replication keeps its positions while their mapping is remembered, and compares them until that has succeeded', async () => {
  const [a, b, c] = [explicit('a'), explicit('b'), explicit('c')];
  const checkpoints = aStore()([''], { mapping: a, formerMappings: [] });
  await checkpoints.load('t', [3]);
  checkpoints.set(3, position);
  checkpoints.useMappings({ mapping: b, formerMappings: [a] });
  assert.deepEqual(checkpoints.outdatedMappings(), [a]);
  assert.deepEqual(checkpoints.outdatedMappings(), [a]);
  checkpoints.mappingsCompared();
  assert.deepEqual(checkpoints.outdatedMappings(), []);
  checkpoints.useMappings({ mapping: c, formerMappings: [b, a] });
  assert.deepEqual(checkpoints.outdatedMappings(), [b]);
  checkpoints.useMappings({ mapping: implicitMapping, formerMappings: [a] });
  assert.equal(checkpoints.get(3), undefined);
});

test('a node reads the stored checkpoints only of those of its vbuckets that have no position in memory', async () => {
  const open = aStore();
  const first = open(['']);
  await first.load('t', [3, 67]);
  first.set(3, position);
  first.skipped.add('route');
  await first.save();
  const other = open(['']);
  await other.load('t', [4]);
  assert.deepEqual([other.get(3), [...other.skipped], other.covered], [undefined, [], 0]);
  await other.load('t', [3, 4]);
  assert.deepEqual([other.covered, [...other.skipped]], [5, ['route']]);
  // Another node has stored more since, but this one has a position of its own.
  other.skipped.clear();
  await other.load('t', [3, 4]);
  assert.deepEqual([...other.skipped], []);
  // The vbucket moves away.
  await other.load('t', [4]);
  assert.equal(other.get(3), undefined);
});

test('checkpoints say which collections the target had: of several the one that was made before the others counts', async () => {
  const open = aStore();
  const first = open(['']);
  await first.load('t', [3, 4]);
  first.newestTargetCollection = 8;
  first.set(3, position);
  await first.save();
  first.newestTargetCollection = 9;
  first.set(4, position);
  await first.save();
  const newest = async (vbuckets: readonly number[]) => {
    const opened = open(['']);
    await opened.load('t', vbuckets);
    return opened.newestTargetCollection;
  };
  assert.deepEqual([await newest([3, 4]), await newest([4]), await newest([5])], [8, 9, null]);
  // Ids of another bucket say nothing.
  await first.load('other', [3, 4]);
  assert.equal(first.newestTargetCollection, null);
});

test('a checkpoint that could not be stored is not stored any more once another node has its vbuckets', async () => {
  const saved: ShardCheckpoint[] = [];
  let isReachable = false;
  const store = {
    load: async () => saved,
    save: async (_: string, checkpoint: ShardCheckpoint) => {
      if (!isReachable) throw new Error('the store cannot be reached');
      saved.push(checkpoint);
    },
  };
  const options = { replication: 'r', sourceBucketUuid: 's', filterEpochs: [''], mappings: implicit, store };
  const checkpoints = new Checkpoints(options);
  await checkpoints.load('t', [3, 4]);
  checkpoints.set(3, position);
  checkpoints.set(4, position);
  await assert.rejects(checkpoints.save(), /cannot be reached/);
  isReachable = true;
  await checkpoints.load('t', [4]);
  await checkpoints.save();
  assert.deepEqual(
    saved.map(({ shard }) => shard),
    [4],
  );
});

test('a slow save stores no checkpoints of vbuckets that have become active on another node since it began', async () => {
  const saved: number[] = [];
  const slow = Promise.withResolvers<void>();
  const store = {
    load: async () => [],
    save: async (_: string, { shard }: ShardCheckpoint) => {
      saved.push(shard);
      await slow.promise;
    },
  };
  const options = { replication: 'r', sourceBucketUuid: 's', filterEpochs: [''], mappings: implicit, store };
  const checkpoints = new Checkpoints(options);
  await checkpoints.load('t', [3, 4]);
  checkpoints.set(3, position);
  checkpoints.set(4, position);
  const saving = checkpoints.save();
  await checkpoints.load('t', [3]);
  slow.resolve();
  await saving;
  assert.deepEqual(saved, [3]);
});
