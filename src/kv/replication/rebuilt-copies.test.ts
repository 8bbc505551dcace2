// Copies that are emptied and filled again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import type { DocumentResult } from '#kv/data/documents.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import {
  type ReplicatedNode as Node,
  ReplicatedCluster,
  ReplicatedNode,
  shardCount,
  vbucketCount,
} from '../../../test/support/replicated-cluster.ts';

for (const type of ['full', 'delta'])
  test(`${type} recovery fills ${type === 'full' ? 'everything' : 'only what changed meanwhile'}`, async (t) => {
    const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
    const { clock, map } = cluster;
    const disk = new MemoryDisk();
    const [a, b] = (await Promise.all(['a', 'b'].map((name) => cluster.start(name)))) as [Node, Node];
    const before = await cluster.start('c', 'c 1', disk);
    await clock.run(4_000);
    for (let i = 0; i < 50; i++) assert.equal(a.store(`k${i}`, 0, { value: `${i}` }), Status.success);
    await clock.run(1_000);
    await before.stop();
    await map.place(0, [0, 1]);
    for (let i = 40; i < 55; i++) assert.equal(a.store(`k${i}`, 0, { value: 'new' }), Status.success);
    await clock.run(1_000);
    const c = new ReplicatedNode(cluster, 'c', 'c 2', disk);
    c.followMembers(cluster.names, type === 'delta');
    let applied = 0;
    const { applier } = c.bucket;
    const apply = applier.apply.bind(applier);
    applier.apply = (vb, item) => {
      if (vb === 0) applied++;
      return apply(vb, item);
    };
    await c.start();
    await clock.run(3_000);
    const high = (): number => c.bucket.columns.highSeqno[0] as number;
    assert.equal(high(), type === 'delta' ? 50 : 0);
    await map.place(0, [0, 1, 2]);
    await clock.run(4_000);
    assert.equal((await map.shards())[0]?.inSync?.length, 3);
    assert.equal(applied, type === 'delta' ? 15 : 55);
    for (const key of ['k0', 'k39', 'k40', 'k54']) assert.equal(c.read(key, 0), a.read(key, 0), key);
    // The rebalance has completed: shards that others have are removed.
    c.followMembers(cluster.names);
    await map.place(0, [0, 1]);
    await clock.run(2_000);
    assert.equal(high(), 0);
    for (const node of [a, b, c]) node.crash();
  });

for (const purgesMeanwhile of [false, true])
  test(`a first filling that was interrupted after a purge ${purgesMeanwhile ? 'begins again if deletions were purged since' : 'continues'}`, async (t) => {
    const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b'], 1);
    const { clock, links, log } = cluster;
    const a = await cluster.start('a');
    await clock.run(4_000);
    const value = 'v'.repeat(100_000);
    for (let i = 0; i < 20; i++) assert.equal(a.store(`k${i}`, 0, { value }), Status.success);
    const purge = async (key: string): Promise<void> => {
      assert.equal(a.remove(key, 0), Status.success);
      await clock.run(2_000);
      a.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
      await clock.run(2_000);
    };
    await purge('k3');
    const b = new ReplicatedNode(cluster, 'b', 'b 1');
    let applied = 0;
    const apply = b.bucket.applier.apply.bind(b.bucket.applier);
    b.bucket.applier.apply = (vb, item) => {
      // The first batch is the only one to arrive.
      if (vb === 0 && applied++ === 0) links.cut('a', 'b');
      return apply(vb, item);
    };
    await b.start();
    await clock.run(18_000);
    const reached = b.bucket.columns.highSeqno[0] as number;
    assert.ok(reached > 0 && reached < 20, `${reached}`);
    if (purgesMeanwhile) await purge('k0');
    applied = 1;
    links.restoreAll();
    await clock.run(10_000);
    assert.equal(log.emptied.length, purgesMeanwhile ? 1 : 0);
    assert.equal(applied - 1, purgesMeanwhile ? 18 : 20 - reached);
    assert.equal(b.bucket.columns.items[0], purgesMeanwhile ? 18 : 19);
    for (const node of [a, b]) node.crash();
  });

test('an active that was filled after deletions were purged rebuilds a copy that lacks them', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, links, map } = cluster;
  const [a, c] = (await Promise.all(['a', 'c'].map((name) => cluster.start(name)))) as [Node, Node];
  await clock.run(4_000);
  for (const key of ['kept', 'removed']) assert.equal(a.store(key, 0), Status.success);
  await clock.run(1_000);
  assert.equal(c.bucket.columns.items[0], 2);
  links.cut('a', 'c');
  assert.equal(a.remove('removed', 0), Status.success);
  assert.equal(a.store('later', 0), Status.success);
  await clock.run(4_000);
  a.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
  await clock.run(100);
  const b = await cluster.start('b');
  links.cut('b', 'c');
  await clock.run(14_000);
  assert.deepEqual([b.bucket.columns.items[0], b.bucket.columns.tombstones[0]], [2, 0]);
  a.crash();
  await map.nameActive(0, 'b');
  await clock.run(12_000);
  links.restoreAll();
  await clock.run(5_000);
  assert.equal(c.read('later', 0), b.read('later', 0));
  assert.equal(c.read('removed', 0), Status.keyNotFound);
  for (const node of [b, c]) node.crash();
});

test('a copy that was removed without its active having seen that map is filled before it joins', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, map } = cluster;
  const nodes = await Promise.all(cluster.names.map((name) => cluster.start(name)));
  const [active, , copy] = nodes as [Node, Node, Node];
  await clock.run(4_000);
  for (let i = 0; i < 20; i++) assert.equal(active.store(`k${i}`, 0), Status.success);
  await clock.run(100);
  const high = (node: Node): number => node.bucket.columns.highSeqno[0] as number;
  assert.equal(high(copy), high(active));
  active.receivesMap = false;
  await map.place(0, [0, 1]);
  await clock.run(2_000);
  assert.equal(high(copy), 0, 'node c has removed its copy');
  active.receivesMap = true;
  await map.place(0, [0, 1, 2]);
  const isMember = async () => (await map.shards())[0]?.inSync?.some(([position]) => position === 2);
  for (let i = 0; !(await isMember()); i++) {
    assert.ok(i < 10_000, 'the copy joins again');
    await clock.run(1);
  }
  assert.equal(high(copy), high(active));
  for (const node of nodes) node.crash();
});

test('a copy that was removed and placed again does not join by its earlier reports, while the message about the removal is under way', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, links, map } = cluster;
  const nodes = await Promise.all(cluster.names.map((name) => cluster.start(name)));
  const [active, , copy] = nodes as [Node, Node, Node];
  await clock.run(4_000);
  for (let i = 0; i < 20; i++) assert.equal(active.store(`k${i}`, 0), Status.success);
  await clock.run(100);
  const high = (node: Node): number => node.bucket.columns.highSeqno[0] as number;
  const isMember = async () => (await map.shards())[0]?.inSync?.some(([position]) => position === 2) ?? false;
  const check = async (): Promise<boolean> => {
    const joined = await isMember();
    assert.ok(!joined || high(copy) === high(active), 'a member has all changes');
    return joined;
  };
  // The active sees neither the map without the copy nor any message of it; the loss shows only after some time.
  active.receivesMap = false;
  links.cut('c', 'a');
  await map.place(0, [0, 1]);
  await clock.run(100);
  active.receivesMap = true;
  await map.place(0, [0, 1, 2]);
  for (let ms = 0; ms < 150; ms++) {
    await clock.run(1);
    await check();
  }
  links.restoreAll();
  for (let ms = 0; !(await check()); ms++) {
    assert.ok(ms < 10_000, 'the copy joins again');
    await clock.run(1);
  }
  assert.equal(high(copy), high(active));
  for (const node of nodes) node.crash();
});

test('a node that is removing a shard and is to serve it begins once the disk has removed it, and keeps what is written then', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const { clock, map } = cluster;
  let gate = deferred<void>();
  gate.resolve();
  const disk = new MemoryDisk({ sync: () => gate.promise });
  const a = await cluster.start('a');
  const before = await cluster.start('b', 'b 1', disk);
  await clock.run(4_000);
  const vbuckets = Array.from({ length: vbucketCount / shardCount }, (_, i) => i * shardCount);
  const storeAll = (node: Node, value: string): DocumentResult[] =>
    vbuckets.map((vb) => node.store('k', vb, { value }));
  const done = vbuckets.map(() => Status.success);
  for (let i = 0; i < 5; i++) assert.deepEqual(storeAll(a, `earlier ${i}`), done);
  await clock.run(4_000);
  await map.place(0, [0]);
  gate = deferred();
  // Node b writes the states, then removes one vbucket after the other.
  await clock.run(1_000);
  await map.placeAnew(0, 'b');
  const confirmed = async () => (await map.shards())[0]?.confirmed;
  for (let step = 0; step <= vbuckets.length; step++) {
    await clock.run(1_000);
    assert.equal(await confirmed(), undefined);
    assert.deepEqual(
      storeAll(before, 'too early'),
      vbuckets.map(() => Status.notMyVbucket),
    );
    gate.resolve();
    gate = deferred();
  }
  gate.resolve();
  for (let ms = 0; (await confirmed()) === undefined; ms += 100) {
    assert.ok(ms < 10_000, 'node b does not confirm');
    await clock.run(100);
  }
  await clock.run(100);
  assert.deepEqual(storeAll(before, 'new'), done);
  await clock.run(1_000);
  before.crash();
  disk.crash();
  const after = await cluster.start('b', 'b 2', disk);
  await clock.run(12_000);
  for (const vb of vbuckets) {
    assert.match(`${after.read('k', vb)}`, /"new"/);
    assert.equal(after.bucket.columns.highSeqno[vb], 1);
  }
  for (const node of [a, after]) node.crash();
});
