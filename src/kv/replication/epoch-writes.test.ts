// Nodes that the map names as the active of a shard, and whose disks are full, so that the new epoch cannot be written: another member serves
// the shard.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import {
  ReplicatedCluster,
  type ReplicatedNode,
  servingMs,
} from '../../../test/support/replicated-cluster.ts';

const majority = { durability: DurabilityLevel.majority } as const;

/** The epoch of shard 0 in the files of a node, as its next process would find it. */
async function epochOnDisk(disk: MemoryDisk): Promise<number> {
  const { opened } = await disk.engine().open({ folder: 'b', bucketUuid: 'b', incarnation: 1, fileCount: 1 });
  return opened[0]?.vbuckets.find(({ vb }) => vb === 0)?.epoch ?? 0;
}

async function started(cluster: ReplicatedCluster) {
  const disks = cluster.names.map(() => new MemoryDisk());
  const nodes = await Promise.all(cluster.names.map((name, i) => cluster.start(name, `${name} 1`, disks[i])));
  await cluster.clock.run(servingMs);
  return { disks: disks as [MemoryDisk, MemoryDisk, MemoryDisk], nodes: nodes as ReplicatedNode[] };
}

test('a node that cannot write the epoch for which it is named passes the shard to another member, and no acknowledged write is lost', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, map } = cluster;
  const { disks, nodes } = await started(cluster);
  const [a, b] = nodes as [ReplicatedNode, ReplicatedNode];
  assert.equal(a.store('k', 0, majority), Status.success);
  await clock.run(1_000);
  assert.equal(a.resolved.get(a.result.pending), Status.success);
  disks[1].isFull = true;
  await map.nameActive(0, 'b');
  await clock.run(30_000);
  const [shard] = await map.shards();
  const active = nodes[shard?.chain[0] ?? -1] as ReplicatedNode;
  assert.equal(shard?.confirmed, active.boot);
  assert.notEqual(active, b);
  active.tick();
  assert.equal(active.bucket.documents.isActive(0), true);
  assert.equal(typeof active.read('k', 0), 'string');
  assert.equal(await epochOnDisk(disks[nodes.indexOf(active) as 0]), shard?.epoch);
  for (const node of nodes) node.crash();
});

test('a shard whose nodes all have full disks is passed to each of them once, and is then served', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, map } = cluster;
  const { disks, nodes } = await started(cluster);
  const before = (await map.shards())[0]?.epoch ?? 0;
  for (const disk of disks) disk.isFull = true;
  await map.nameActive(0, 'b');
  await clock.run(60_000);
  const [shard] = await map.shards();
  assert.equal(shard?.confirmed, 'b 1');
  assert.ok(shard.epoch <= before + 4, `${shard.epoch - before} epochs`);
  nodes[1]?.tick();
  assert.equal(nodes[1]?.bucket.documents.isActive(0), true);
  for (const node of nodes) node.crash();
});

test('a shard moves to a node whose disk is full when it is named there again', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const { clock, map } = cluster;
  const { disks, nodes } = await started(cluster);
  disks[1].isFull = true;
  await map.move([[1, 0], ...(await map.shards()).slice(1).map(({ chain }) => chain)], 'plan');
  await Promise.all([map.orchestrate(), clock.run(60_000)]);
  assert.equal((await map.shards())[0]?.confirmed, 'b 1', 'the move ends');
  // Node b passes the shard back again when its disk, after it took an epoch, does not take the next.
  disks[1].isFull = false;
  await map.nameActive(0, 'a');
  await clock.run(30_000);
  await map.nameActive(0, 'b');
  await clock.run(30_000);
  assert.equal((await map.shards())[0]?.confirmed, 'b 1');
  await map.nameActive(0, 'a');
  await clock.run(30_000);
  disks[1].isFull = true;
  await map.nameActive(0, 'b');
  await clock.run(30_000);
  assert.equal((await map.shards())[0]?.confirmed, 'a 1');
  for (const node of nodes) node.crash();
});

test('a restarted node whose disk is full leaves the shards that it served to members that have all of them', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const { clock, map } = cluster;
  const { disks, nodes } = await started(cluster);
  await nodes[0]?.stop();
  disks[0].isFull = true;
  const again = await cluster.start('a', 'a 2', disks[0]);
  await clock.run(30_000);
  assert.deepEqual(
    (await map.shards()).map(({ confirmed }) => confirmed),
    ['b 1', 'b 1', 'b 1', 'b 1'],
  );
  for (const node of [again, ...nodes.slice(1)]) node.crash();
});
