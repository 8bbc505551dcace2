// Nodes in one process, over simulated time and connections, with a map that they share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delayMs } from '#kv/bucket/durability/flush-delay.ts';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import {
  ReplicatedCluster as Cluster,
  type ReplicatedNode as Node,
  servingMs,
  vbucketCount,
} from '../../../test/support/replicated-cluster.ts';

const vbs = Array.from({ length: vbucketCount }, (_, vb) => vb);
const majority = { durability: DurabilityLevel.majority } as const;

/** The node that serves the vbucket. */
const activeOf = (nodes: readonly Node[], vb: number): Node => {
  for (const node of nodes) node.tick();
  const found = nodes.filter((node) => node.bucket.documents.isActive(vb));
  assert.equal(found.length, 1, `one node serves vbucket ${vb}`);
  return found[0] as Node;
};

test('copies receive the changes of their active, join the in-sync set, and majority writes are acknowledged', async (t) => {
  const cluster = new Cluster(aSeed(t), ['a', 'b']);
  const { clock, map } = cluster;
  const a = await cluster.start('a');
  await clock.run(1_000);
  const shards = () => map.shards();
  assert.ok((await shards()).every(({ chain, confirmed }) => (chain[0] === 0) === (confirmed === 'a 1')));
  for (let i = 0; i < 300; i++)
    assert.equal(a.store(`k${i}`, [0, 2][i % 2] as number, { value: `v${i}` }), Status.success);
  assert.equal(a.store('k', 0, majority), Status.durabilityImpossible, 'no copy is in the set');
  const b = await cluster.start('b');
  await clock.run(3_000);
  assert.ok(
    (await shards()).every(({ inSync }) => inSync?.length === 2),
    'every copy joined',
  );
  const nodes = [a, b];
  for (const vb of vbs) {
    const active = activeOf(nodes, vb);
    assert.equal(active.store('durable', vb, majority), Status.success);
    const token = active.result.pending;
    assert.ok(token > 0);
    assert.equal(active.read('durable', vb), Status.keyNotFound, 'the document is not visible yet');
    await clock.run(50);
    assert.equal(active.resolved.get(token), Status.success);
  }
  a.remove('k0', 0);
  await clock.run(50);
  for (let i = 0; i < 300; i++) {
    const vb = [0, 2][i % 2] as number;
    assert.equal(b.read(`k${i}`, vb), a.read(`k${i}`, vb));
  }
  for (const vb of vbs) assert.equal(b.read('durable', vb), a.read('durable', vb));
  const [ofA, ofB] = nodes.map((node) => node.bucket.stats().vbuckets);
  assert.deepEqual([ofA?.active, ofB?.active], [ofB?.replica, ofA?.replica], 'copies are counted separately');
  assert.equal(ofA?.active.vbuckets, vbucketCount / 2);
  for (const node of nodes) node.crash();
});

test('a copy writes to disk at once what a client waits for', async (t) => {
  const cluster = new Cluster(aSeed(t), ['a', 'b']);
  const start = (name: string): Promise<Node> => cluster.start(name, `${name} 1`, new MemoryDisk());
  const nodes = [await start('a'), await start('b')];
  await cluster.clock.run(3_000);
  const a = activeOf(nodes, 0);
  assert.equal(a.store('k', 0, { durability: DurabilityLevel.persistToMajority }), Status.success);
  const token = a.result.pending;
  await cluster.clock.run(delayMs.low);
  assert.equal(a.resolved.get(token), Status.success, 'without a delay for more changes');
  for (const node of nodes) node.crash();
});

test('a copy that does not answer leaves the set, and durable writes are impossible until it is back', async (t) => {
  const cluster = new Cluster(aSeed(t), ['a', 'b']);
  const { clock, links, map } = cluster;
  const nodes = [await cluster.start('a'), await cluster.start('b')];
  await clock.run(3_000);
  const a = activeOf(nodes, 0);
  links.cut('a', 'b');
  links.cut('b', 'a');
  assert.equal(a.store('k', 0, majority), Status.success);
  const token = a.result.pending;
  await clock.run(1_000);
  assert.equal(a.resolved.get(token), undefined);
  await clock.run(2_000);
  assert.equal((await map.shards())[0]?.inSync?.length, 1);
  assert.equal(a.store('other', 0), Status.success, 'writes without a level continue');
  assert.equal(a.store('more', 0, majority), Status.durabilityImpossible);
  assert.equal(a.resolved.get(token), undefined, 'one member is no majority');
  links.restoreAll();
  await clock.run(4_000);
  assert.equal((await map.shards())[0]?.inSync?.length, 2);
  assert.equal(a.resolved.get(token), Status.success);
  const b = nodes.find((node) => node !== a) as Node;
  for (const key of ['k', 'other']) assert.equal(b.read(key, 0), a.read(key, 0));
  for (const node of nodes) node.crash();
});

test('closing the replication acknowledges no majority write that the members have not received', async (t) => {
  const cluster = new Cluster(aSeed(t), ['a', 'b']);
  const nodes = [await cluster.start('a'), await cluster.start('b')];
  await cluster.clock.run(3_000);
  const a = activeOf(nodes, 0);
  cluster.links.cut('a', 'b');
  assert.equal(a.store('k', 0, majority), Status.success);
  const before = a.result.pending;
  a.crash();
  assert.equal(a.resolved.get(before), undefined);
  assert.equal(a.store('after', 0, majority), Status.success);
  assert.ok(a.result.pending > 0, 'the write waits for ever');
  for (const node of nodes) node.crash();
});

test('an active that receives a higher epoch answers unconfirmed majority writes as ambiguous', async (t) => {
  const cluster = new Cluster(aSeed(t), ['a', 'b', 'c'], 2);
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => cluster.start(name)));
  await cluster.clock.run(4_000);
  const [a] = nodes as [Node];
  cluster.links.cut('a', 'b');
  assert.equal(a.store('k', 0, majority), Status.success);
  const token = a.result.pending;
  await cluster.map.nameActive(0, 'b');
  await cluster.clock.run(100);
  assert.equal(a.resolved.get(token), Status.syncWriteAmbiguous);
  for (const node of nodes) node.crash();
});

test('a node promoted in place of a dead active serves what the in-sync set acknowledged', async (t) => {
  const cluster = new Cluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, map } = cluster;
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => cluster.start(name)));
  await clock.run(4_000);
  const [a, b, c] = nodes as [Node, Node, Node];
  assert.equal(activeOf(nodes, 0), a);
  assert.equal(a.store('k', 0, { ...majority, value: 'kept' }), Status.success);
  const token = a.result.pending;
  await clock.run(50);
  assert.equal(a.resolved.get(token), Status.success);
  const before = a.read('k', 0);
  a.crash();
  await map.nameActive(0, 'b');
  await clock.run(5_000);
  assert.equal(b.bucket.documents.isActive(0), false, 'the promise to the old active holds');
  await clock.run(9_000);
  const [live] = [[b, c]];
  assert.equal(activeOf(live, 0), b);
  assert.equal(b.read('k', 0), before);
  assert.equal(b.store('k', 0, { ...majority, value: 'new' }), Status.success);
  const next = b.result.pending;
  await clock.run(100);
  assert.equal(b.resolved.get(next), Status.success);
  assert.equal(b.read('k', 0), c.read('k', 0));
  for (const node of live) node.crash();
});

test('a node promoted in place of an active that was stopped does not wait for the promise', async (t) => {
  const cluster = new Cluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, map } = cluster;
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => cluster.start(name)));
  // All nodes started longer ago than a promise lasts.
  await clock.run(servingMs);
  const [a, b, c] = nodes as [Node, Node, Node];
  assert.equal(activeOf(nodes, 0), a);
  const stopped = a.stop();
  await clock.run(100);
  await stopped;
  await map.nameActive(0, 'b');
  await clock.run(1_500);
  assert.equal(activeOf([b, c], 0), b);
  for (const node of [b, c]) node.crash();
});

test('a shard is served again after all its members restarted, once all of them are back', async (t) => {
  const names = ['a', 'b', 'c'];
  const cluster = new Cluster(aSeed(t), names, 2);
  const { clock, map } = cluster;
  const first = await Promise.all(names.map((name) => cluster.start(name)));
  await clock.run(4_000);
  for (const node of first) node.crash();
  await clock.run(60_000);
  const nodes = [await cluster.start('a', 'a 2'), await cluster.start('b', 'b 2')];
  await clock.run(20_000);
  assert.equal(nodes[0]?.bucket.documents.isActive(0), false, 'the third member may have more');
  nodes.push(await cluster.start('c', 'c 2'));
  await clock.run(20_000);
  for (const vb of vbs) assert.equal(activeOf(nodes, vb).store('k', vb, majority), Status.success);
  assert.ok((await map.shards()).every(({ inSync }) => inSync?.length === 3));
  for (const node of nodes) node.crash();
});

for (const promiseMs of [10_000, 4_000])
  test(`an active that is cut off from all others is not replaced within ${promiseMs} ms, and then it is`, async (t) => {
    const names = ['a', 'b', 'c'];
    const cluster = new Cluster(aSeed(t), names, 2);
    const { clock, links, map } = cluster;
    cluster.promiseMs = promiseMs;
    const nodes = await Promise.all(names.map((name) => cluster.start(name)));
    // All nodes started longer ago than a promise lasts.
    await clock.run(24_000);
    const [a, b] = nodes as [Node, Node];
    assert.equal(activeOf(nodes, 0), a);
    a.cutFromMap();
    for (const other of ['b', 'c']) {
      links.cut('a', other);
      links.cut(other, 'a');
    }
    await clock.run(1_000);
    await map.nameActive(0, 'b');
    // As a failover does: two nodes are left, of which neither needs promises.
    for (const node of nodes) if (node !== a) node.followMembers(['b', 'c']);
    let servedByA = 0;
    for (let i = 0; i < (promiseMs + 2_000) / 100; i++) {
      await clock.run(100);
      for (const node of nodes) node.tick();
      const active = nodes.filter((node) => node.bucket.documents.isActive(0));
      assert.ok(active.length <= 1, 'two nodes serve the same vbucket');
      if (active[0] === a) servedByA++;
    }
    assert.ok(servedByA > promiseMs / 200 && servedByA < promiseMs / 100);
    assert.equal(b.bucket.documents.isActive(0), true);
    // The old active is back, and has not seen the map yet.
    links.restoreAll();
    for (const node of nodes) if (node !== a) node.followMembers(names);
    for (let i = 0; i < 2_000; i++) {
      await clock.run(1);
      a.tick();
      assert.equal(a.bucket.documents.isActive(0), false, 'the answers to its heartbeats are no promises');
    }
    for (const node of nodes) node.crash();
  });

for (const isNew of [true, false])
  test(`a node that is promoted soon after its start waits for the promise that it made, not for one of an earlier process, in a ${isNew ? 'new' : 'known'} bucket`, async (t) => {
    const names = ['a', 'b', 'c'];
    const cluster = new Cluster(aSeed(t), names, 2);
    const { clock, map } = cluster;
    cluster.promiseMs = 4_000;
    cluster.isBucketNew = isNew;
    const nodes = await Promise.all(names.map((name) => cluster.start(name)));
    await clock.run(2_000);
    const [a, b] = nodes as [Node, Node];
    assert.equal(activeOf(nodes, 0), a);
    a.crash();
    await map.nameActive(0, 'b');
    await clock.run(3_500);
    b.tick();
    assert.equal(b.bucket.documents.isActive(0), false);
    await clock.run(3_000);
    b.tick();
    assert.equal(b.bucket.documents.isActive(0), true);
    for (const node of nodes) if (node !== a) node.crash();
  });

test('an active that keeps running is replaced once the promise to it ends, although other nodes answer its heartbeats', async (t) => {
  const names = ['a', 'b', 'c'];
  const cluster = new Cluster(aSeed(t), names, 2);
  const { clock, map } = cluster;
  cluster.promiseMs = 4_000;
  const nodes = await Promise.all(names.map((name) => cluster.start(name)));
  // All nodes started longer ago than a promise lasts.
  await clock.run(24_000);
  const [a, b] = nodes as [Node, Node];
  assert.equal(activeOf(nodes, 0), a);
  await map.nameActive(0, 'b');
  for (let i = 0; i < 60; i++) {
    await clock.run(100);
    for (const node of nodes) node.tick();
    assert.ok(nodes.filter((node) => node.bucket.documents.isActive(0)).length <= 1);
  }
  assert.equal(activeOf(nodes, 0), b);
  for (const node of nodes) node.crash();
});

test('an active does not serve by what an earlier process of a member promised', async (t) => {
  const names = ['a', 'b', 'c'];
  const cluster = new Cluster(aSeed(t), names, 2);
  const { clock, links, map } = cluster;
  const [a, b, c] = (await Promise.all(names.map((name) => cluster.start(name)))) as [Node, Node, Node];
  await clock.run(24_000);
  b.crash();
  // The next process of b promises less: the failover timeout has changed. The map promotes it before the promise of the earlier one has ended.
  cluster.promiseMs = 1_500;
  const again = await cluster.start('b', 'b 2');
  const isMember = async () => (await map.shards())[0]?.inSync?.some(([, boot]) => boot === 'b 2');
  for (let i = 0; !(await isMember()); i++) {
    assert.ok(i < 500, 'node b joins again');
    await clock.run(10);
  }
  const nodes = [a, again, c];
  assert.equal(activeOf(nodes, 0), a);
  a.cutFromMap();
  for (const other of ['b', 'c']) {
    links.cut('a', other);
    links.cut(other, 'a');
  }
  await map.nameActive(0, 'b');
  let servedByA = 0;
  for (let i = 0; i < 120; i++) {
    await clock.run(100);
    for (const node of nodes) node.tick();
    const active = nodes.filter((node) => node.bucket.documents.isActive(0));
    assert.ok(active.length <= 1, 'two nodes serve the same vbucket');
    if (active[0] === a) servedByA++;
  }
  assert.ok(servedByA > 10, 'node a serves by the promise of the process of b that runs');
  assert.equal(activeOf(nodes, 0), again);
  for (const node of nodes) node.crash();
});

test('a copy with writes that the new active lacks leaves the in-sync set, is rebuilt, and joins again', async (t) => {
  const names = ['a', 'b', 'c'];
  const cluster = new Cluster(aSeed(t), names, 2);
  const { clock, links, map } = cluster;
  const nodes = await Promise.all(names.map((name) => cluster.start(name)));
  await clock.run(4_000);
  const [a, b, c] = nodes as [Node, Node, Node];
  assert.equal(activeOf(nodes, 0), a);
  for (let i = 0; i < 50; i++) a.store(`k${i}`, 0, { value: `${i}` });
  await clock.run(100);
  links.cut('a', 'b');
  a.store('lost', 0);
  a.remove('k7', 0);
  await clock.run(20);
  assert.notEqual(c.read('lost', 0), Status.keyNotFound);
  assert.equal(b.read('lost', 0), Status.keyNotFound);
  a.crash();
  links.restoreAll();
  await map.nameActive(0, 'b');
  // The old active may serve until then.
  await clock.run(9_000);
  let wasEmpty = false;
  let outMs = 0;
  for (let i = 0; i < 2_000; i++) {
    await clock.run(2);
    const isMember = (await map.shards())[0]?.inSync?.some(([position]) => position === 2);
    const isEmpty = c.bucket.columns.highSeqno[0] === 0;
    wasEmpty ||= isEmpty;
    assert.ok(!(isMember && isEmpty), 'the copy left the set before it was emptied');
    outMs = isMember ? 0 : outMs + 2;
    if (outMs > 10)
      assert.equal(c.read('k8', 0), Status.temporaryFailure, 'a copy out of sync answers no reads');
  }
  assert.ok(wasEmpty);
  await clock.run(5_000);
  assert.equal(activeOf([b, c], 0), b);
  assert.equal(b.store('k', 0, majority), Status.success);
  const token = b.result.pending;
  await clock.run(100);
  assert.equal(b.resolved.get(token), Status.success);
  const placement = (await map.shards())[0];
  assert.deepEqual(placement?.inSync?.map(([position]) => position).toSorted(), [1, 2]);
  for (const key of ['lost', 'k', 'k7', 'k8']) assert.equal(c.read(key, 0), b.read(key, 0), key);
  assert.equal(c.bucket.columns.items[0], b.bucket.columns.items[0]);
  for (const node of [b, c]) node.crash();
});
