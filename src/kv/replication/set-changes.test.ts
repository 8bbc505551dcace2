// Which in-sync set counts while it changes, and when it may fall below a majority.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnavailableError } from '#base/unavailable-error.ts';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import {
  type ReplicatedNode as Node,
  ReplicatedCluster,
  servingMs,
} from '../../../test/support/replicated-cluster.ts';

const majority = { durability: DurabilityLevel.majority } as const;

test('a copy that may have joined the set counts as a member', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, links, map } = cluster;
  const a = await cluster.start('a');
  const b = await cluster.start('b');
  await clock.run(4_000);
  const members = async () => (await map.shards())[0]?.inSync?.map(([position]) => position).toSorted();
  assert.deepEqual(await members(), [0, 1]);
  a.receivesMap = false;
  const c = await cluster.start('c');
  await clock.run(2_000);
  assert.deepEqual(await members(), [0, 1, 2]);
  links.cut('a', 'c');
  links.cut('c', 'a');
  assert.equal(a.store('k', 0, majority), Status.success);
  const token = a.result.pending;
  await clock.run(1_000);
  assert.notEqual(b.read('k', 0), Status.keyNotFound);
  assert.equal(a.resolved.get(token), undefined, 'node c may be promoted, and does not have the document');
  a.receivesMap = true;
  await clock.run(4_000);
  assert.equal(a.resolved.get(token), Status.success);
  assert.deepEqual(await members(), [0, 1], 'node c does not answer');
  for (const node of [a, b, c]) node.crash();
});

test('an active commits nothing while the map may name it as the only member', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const { clock, links, map } = cluster;
  const a = await cluster.start('a');
  const b = await cluster.start('b');
  await clock.run(4_000);
  a.receivesMap = false;
  links.cut('a', 'b');
  links.cut('b', 'a');
  await clock.run(2_500);
  assert.equal((await map.shards())[0]?.inSync?.length, 1);
  links.restoreAll();
  assert.equal(a.store('k', 0, majority), Status.success);
  const token = a.result.pending;
  await clock.run(4_000);
  assert.notEqual(b.read('k', 0), Status.keyNotFound);
  assert.equal(a.resolved.get(token), undefined, 'node a cannot tell whether node b is still a member');
  a.receivesMap = true;
  await clock.run(4_000);
  assert.equal((await map.shards())[0]?.inSync?.length, 2);
  assert.equal(a.resolved.get(token), Status.success);
  for (const node of [a, b]) node.crash();
});

/** Two nodes; the disk of node a writes nothing from `stall` until `resume`. */
async function withStallingDisk(context: Parameters<typeof aSeed>[0]) {
  const cluster = new ReplicatedCluster(aSeed(context), ['a', 'b']);
  const slow = Promise.withResolvers<void>();
  let synced = Promise.resolve();
  const a = await cluster.start('a', 'a 1', new MemoryDisk({ sync: () => synced }));
  const b = await cluster.start('b');
  await cluster.clock.run(4_000);
  const stall = (): void => {
    synced = slow.promise;
  };
  const { clock, links, map } = cluster;
  return { a, b, clock, links, map, stall, resume: slow.resolve };
}

test('the set falls below a majority only once the disk of the active has what was acknowledged', async (t) => {
  const { a, b, clock, links, map, stall, resume } = await withStallingDisk(t);
  stall();
  assert.equal(a.store('k', 0, majority), Status.success);
  const token = a.result.pending;
  await clock.run(1_000);
  assert.equal(a.resolved.get(token), Status.success, 'two nodes have the document in memory');
  links.cut('a', 'b');
  links.cut('b', 'a');
  await clock.run(10_000);
  assert.equal((await map.shards())[0]?.inSync?.length, 2);
  resume();
  await clock.run(2_000);
  assert.equal((await map.shards())[0]?.inSync?.length, 1);
  for (const node of [a, b]) node.crash();
});

for (const name of [
  'when the client has waited long enough',
  'at once where the map has no copy left',
] as const)
  test(`a durable write that its only copy lacks ends as ambiguous ${name}, and is visible once it is on disk`, async (t) => {
    const hasCopies = name.startsWith('when');
    const { a, b, clock, links, map, stall, resume } = await withStallingDisk(t);
    links.cut('a', 'b');
    links.cut('b', 'a');
    stall();
    const timeoutMs = hasCopies ? 10_000 : 0;
    assert.equal(a.store('k', 0, { ...majority, durabilityTimeoutMs: timeoutMs }), Status.success);
    const token = a.result.pending;
    await clock.run(3_000);
    assert.equal((await map.shards())[0]?.inSync?.length, 1);
    assert.equal(a.resolved.get(token), undefined, 'the copy may return');
    if (hasCopies) await clock.run(8_000);
    else await map.place(0, [0]);
    await clock.run(100);
    assert.equal(a.resolved.get(token), Status.syncWriteAmbiguous);
    assert.equal(a.read('k', 0), Status.keyNotFound, 'a kill of node a would lose it');
    resume();
    await clock.run(4_000);
    assert.equal(typeof a.read('k', 0), 'string');
    assert.equal(a.bucket.changes.safeSeqno(0), 1, 'streams do not get the write');
    for (const node of [a, b]) node.crash();
  });

test('under load the active writes what was acknowledged as soon as a silent member is to leave', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const { clock, links, map } = cluster;
  const a = await cluster.start('a', 'a 1', new MemoryDisk());
  const b = await cluster.start('b');
  await clock.run(4_000);
  const storeFor = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5) {
      for (let i = 0; i < 32; i++) a.store(`k${i}`, 0);
      await clock.run(5);
    }
  };
  // Until shortly after a flush that also wrote the changes that the copy has in memory: the next such flush is almost two seconds away.
  await storeFor(2_050);
  links.cut('a', 'b');
  links.cut('b', 'a');
  await storeFor(1_800);
  assert.equal((await map.shards())[0]?.inSync?.length, 1);
  for (const node of [a, b]) node.crash();
});

for (const fails of [false, true])
  test(`the only member left, once promoted, ${fails ? 'serves nothing while its disk lacks a write' : 'serves when its disk has every write'}`, async (t) => {
    const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
    const { clock, map } = cluster;
    let isBroken = false;
    const sync = () => (isBroken ? Promise.reject(new Error('EIO')) : Promise.resolve());
    const a = await cluster.start('a');
    const b = await cluster.start('b', 'b 1', new MemoryDisk({ sync }));
    await clock.run(servingMs);
    isBroken = fails;
    assert.equal(a.store('k', 0, majority), Status.success);
    const token = a.result.pending;
    await clock.run(1_000);
    assert.equal(a.resolved.get(token), Status.success, 'node b has it in memory');
    a.crash();
    // The changes of the map that an unsafe failover makes.
    await map.nameActive(0, 'b');
    await map.place(0, [1]);
    await clock.run(20_000);
    assert.equal((await map.shards())[0]?.confirmed, 'b 1');
    b.tick();
    assert.equal(
      b.bucket.documents.isActive(0),
      !fails,
      'node b is active although its disk lacks the write, or not although its disk has it',
    );
    b.crash();
  });

test('a node whose disk is full confirms what it is named for, and serves reads', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const { clock, map } = cluster;
  const disk = new MemoryDisk();
  const a = await cluster.start('a', 'a 1', disk);
  disk.isFull = true;
  const b = await cluster.start('b');
  await clock.run(30_000);
  assert.equal((await map.shards())[0]?.confirmed, 'a 1');
  a.tick();
  assert.equal(a.bucket.documents.isActive(0), true);
  for (const node of [a, b]) node.crash();
});

test('a new active serves nothing that one of its members lacks', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, links, map } = cluster;
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => cluster.start(name)));
  await clock.run(4_000);
  const members = async () => (await map.shards())[0]?.inSync?.map(([position]) => position) ?? [];
  const [a, next, late] = nodes as [Node, Node, Node];
  links.cut(a.name, late.name);
  assert.equal(a.store('k', 0), Status.success);
  await clock.run(20);
  a.crash();
  // When the node restarts without its memory, the member that it reaches is promoted at once; the other needs some time to get
  // what it lacks.
  links.cut(late.name, a.name);
  links.delayMaxMs = 400;
  const again = await cluster.start(a.name, 'another');
  const isServed = (): boolean => next.bucket.documents.isActive(0) && typeof next.read('k', 0) === 'string';
  while (!isServed()) {
    assert.ok(clock.monotonicMs() < 60_000, 'the next member serves');
    await clock.run(1);
  }
  const isMember = (await members()).includes(nodes.indexOf(late));
  assert.ok(
    !isMember || late.read('k', 0) === next.read('k', 0),
    'a member lacks what the active serves, and may be promoted next',
  );
  for (const node of [again, next, late]) node.crash();
});

test('a copy that is silent for a while stays in the set while the store cannot be reached', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b']);
  const { clock, links, map } = cluster;
  const a = await cluster.start('a');
  const b = await cluster.start('b');
  await clock.run(4_000);
  const { store } = map;
  const put = store.put.bind(store);
  const down = (): Promise<never> => Promise.reject(new UnavailableError('Nothing was changed: it is down.'));
  Object.assign(store, { problem: 'it is down', put: down });
  links.cut('a', 'b');
  links.cut('b', 'a');
  await clock.run(3_000);
  assert.equal(a.store('k', 0, majority), Status.success);
  const token = a.result.pending;
  await clock.run(1_000);
  assert.equal(a.resolved.get(token), undefined, 'node b does not have the document');
  links.restoreAll();
  await clock.run(2_000);
  assert.equal(a.resolved.get(token), Status.success);
  links.cut('a', 'b');
  links.cut('b', 'a');
  Object.assign(store, { problem: null, put });
  await clock.run(4_000);
  assert.equal((await map.shards())[0]?.inSync?.length, 1, 'the store makes changes again');
  for (const node of [a, b]) node.crash();
});
