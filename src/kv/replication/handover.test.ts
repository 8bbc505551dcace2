// Shards that move between nodes of one process, over simulated time and connections, while clients write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnavailableError } from '#base/unavailable-error.ts';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import {
  ReplicatedCluster,
  type ReplicatedNode,
  servingMs,
  shardCount,
  vbucketCount,
} from '../../../test/support/replicated-cluster.ts';

/** All shards of a new cluster are served after this time. */
const startMs = 4_000;
const majority = { durability: DurabilityLevel.majority } as const;

/** Writes one document after the other, each until a node takes it, and notes what was acknowledged. */
class Writer {
  readonly acknowledged = new Map<string, string>();
  readonly #nodes: readonly ReplicatedNode[];
  readonly #cluster: ReplicatedCluster;
  longestMs = 0;
  isStopped = false;

  constructor(cluster: ReplicatedCluster, nodes: readonly ReplicatedNode[]) {
    this.#cluster = cluster;
    this.#nodes = nodes;
  }

  async run(): Promise<void> {
    const { clock, random } = this.#cluster;
    for (let i = 0; !this.isStopped; i++) {
      const vb = random(vbucketCount);
      const key = `k${random(40)}`;
      const startedMs = clock.monotonicMs();
      const isDurable = random(2) === 0;
      while (!(await this.#write(key, vb, `${i}`, isDurable))) await clock.sleep(2);
      this.longestMs = Math.max(this.longestMs, clock.monotonicMs() - startedMs);
      this.acknowledged.set(`${vb} ${key}`, `${i}`);
      await clock.sleep(1);
    }
  }

  /** False where it is to be tried again. */
  async #write(key: string, vb: number, value: string, isDurable: boolean): Promise<boolean> {
    for (const node of this.#nodes) {
      const status = node.store(key, vb, { value, ...(isDurable && majority) });
      if (status === Status.notMyVbucket || status === Status.temporaryFailure) continue;
      assert.equal(status, Status.success);
      const token = node.result.pending;
      while (token > 0 && !node.resolved.has(token)) await this.#cluster.clock.sleep(1);
      if (token > 0) assert.equal(node.resolved.get(token), Status.success, 'a durable write is resolved');
      return true;
    }
    return false;
  }
}

const seqnosOf = ({ bucket }: ReplicatedNode): number[] => [...bucket.columns.highSeqno];

for (const replicas of [0, 1])
  test(`shards with ${replicas} copies move under load, and no write fails or is lost`, async (t) => {
    const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], replicas);
    const { clock, map } = cluster;
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => cluster.start(name)));
    await clock.run(startMs);
    const writer = new Writer(cluster, nodes);
    const written = writer.run();
    await clock.run(500);
    /** The places of the nodes with the vbucket, after its shard moved on by so many nodes. */
    const chainOf = (vb: number, step = 0): number[] =>
      Array.from({ length: replicas + 1 }, (_, copy) => ((vb % shardCount) + copy + step) % nodes.length);
    // Each shard goes to the next node, and back.
    for (const step of [1, 0]) {
      const chains = Array.from({ length: shardCount }, (_, shard) => chainOf(shard, step));
      await map.move(chains, `${step}`);
      await clock.until(map.orchestrate());
      await clock.run(500);
      for (let vb = 0; vb < vbucketCount; vb++) {
        const [active] = chainOf(vb, step);
        for (const [place, node] of nodes.entries())
          assert.equal(node.bucket.documents.isActive(vb), active === place, `vbucket ${vb} on ${node.name}`);
      }
    }
    writer.isStopped = true;
    await clock.until(written);
    await clock.run(100);
    assert.ok(writer.acknowledged.size > 100);
    assert.ok(writer.longestMs < 400, `a write took ${writer.longestMs} ms`);
    for (const [name, value] of writer.acknowledged) {
      const [vb, key] = name.split(' ') as [string, string];
      for (const place of chainOf(Number(vb)))
        assert.match(String(nodes[place]?.read(key, Number(vb))), new RegExp(`^\\["${value}"`));
    }
    for (const [place, { bucket, name }] of nodes.entries())
      for (let vb = 0; vb < vbucketCount; vb++)
        if (!chainOf(vb).includes(place))
          assert.equal(bucket.columns.highSeqno[vb], 0, `${name} has vbucket ${vb} still`);
    t.diagnostic(`the longest write took ${writer.longestMs} ms`);
    assert.ok(nodes.every((node) => seqnosOf(node).some((seqno) => seqno > 0)));
    for (const node of nodes) node.crash();
  });

test('a move begins its next step when the nodes have done the last, also if the next active sees the map late', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b'], 0);
  const { clock, map } = cluster;
  const nodes = await Promise.all(['a', 'b'].map((name) => cluster.start(name)));
  const [a, b] = nodes as [ReplicatedNode, ReplicatedNode];
  // Just after a heartbeat, which would otherwise begin the next step.
  await clock.run(startMs + 10);
  for (let vb = 0; vb < vbucketCount; vb += shardCount)
    assert.equal(a.store('k', vb, { value: 'kept' }), Status.success);
  b.mapDelayMs = 30;
  const chains = Array.from({ length: shardCount }, () => [1]);
  const startedMs = clock.monotonicMs();
  await map.move(chains, 'plan');
  await clock.until(map.orchestrate(10));
  const tookMs = clock.monotonicMs() - startedMs;
  // More if a step waited for the next heartbeat.
  assert.ok(tookMs < 170, `the moves took ${tookMs} ms`);
  assert.match(String(b.read('k', 0)), /^\["kept"/);
  for (const node of nodes) node.crash();
});

for (const problem of ['it is down', null])
  test(`shards that are to move are served while the store makes no change, and move afterwards (${problem})`, (t) =>
    moveWhileUnwritable(new ReplicatedCluster(aSeed(t), ['a', 'b'], 1), problem));

/** `problem`: whether the store itself says that it cannot be written, else only its answers do. */
async function moveWhileUnwritable(cluster: ReplicatedCluster, problem: string | null): Promise<void> {
  const { clock, map } = cluster;
  const [a, b] = await Promise.all([cluster.start('a'), cluster.start('b')]);
  await clock.run(startMs);
  const { store } = map;
  const put = store.put.bind(store);
  const down = Promise.withResolvers<void>();
  let isDown = false;
  // The store is lost as soon as the map names successors.
  const putLast = async (...change: Parameters<typeof put>): Promise<number | null> => {
    if (isDown) throw new UnavailableError('Nothing was changed.', { isUnchanged: true });
    const revision = await put(...change);
    if (revision === null || !JSON.stringify(change[1]).includes('"successor"')) return revision;
    Object.assign(store, { problem });
    isDown = true;
    down.resolve();
    return revision;
  };
  Object.assign(store, { problem: null, put: putLast });
  const swapped = Array.from({ length: shardCount }, (_, shard) => [(shard + 1) % 2, shard % 2]);
  await map.move(swapped, 'p');
  map.orchestrate().catch(() => {});
  await clock.until(down.promise);
  let [refused, writes] = [0, 0];
  for (; writes < 1_000; writes++) {
    await clock.run(10);
    for (let vb = 0; vb < shardCount; vb++) {
      const status = (vb % 2 === 0 ? a : b).store('k', vb, {});
      if (status !== Status.success) refused++;
    }
  }
  const share = refused / (writes * shardCount);
  assert.ok(share < 0.02, `${100 * share} % of the writes were refused`);
  Object.assign(store, { problem: null, put });
  await clock.run(3_000);
  await clock.until(map.orchestrate());
  for (let vb = 0; vb < shardCount; vb++)
    assert.deepEqual(
      [a, b].map(({ bucket }) => bucket.documents.isActive(vb)),
      [vb % 2 === 1, vb % 2 === 0],
    );
  for (const node of [a, b]) node.crash();
}

test('a successor that restarts before it has confirmed gives the shard to a member that kept running', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b'], 1);
  const { clock, map } = cluster;
  const [a, b] = await Promise.all(['a', 'b'].map((name) => cluster.start(name)));
  await clock.run(startMs);
  assert.equal(a?.store('k', 0, { value: 'kept' }), Status.success);
  await clock.run(50);
  b?.holdMapChanges();
  await map.move(
    Array.from({ length: shardCount }, () => [1, 0]),
    'plan',
  );
  const moved = map.orchestrate();
  const shard = async () => (await map.shards())[0];
  for (let i = 0; (await shard())?.chain[0] !== 1; i++) {
    assert.ok(i < 1_000, 'the active reports its successor');
    await clock.run(5);
  }
  assert.equal((await shard())?.confirmed, undefined);
  b?.crash();
  const again = await cluster.start('b', 'b 2');
  for (let i = 0; (await shard())?.confirmed !== 'a 1'; i++) {
    assert.ok(i < 1_000, 'the old active serves again');
    await clock.run(2);
  }
  await clock.until(moved);
  assert.deepEqual([(await shard())?.chain[0], (await shard())?.confirmed], [1, 'b 2']);
  assert.match(String(again.read('k', 0)), /^\["kept"/);
  for (const node of [a, again]) node?.crash();
});

test('a move takes four writes of the map, and the removal of a moved shard none of its own while others move', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b'], 0);
  const { clock, map } = cluster;
  const nodes = await Promise.all(['a', 'b'].map((name) => cluster.start(name)));
  const [a] = nodes as [ReplicatedNode, ReplicatedNode];
  await clock.run(startMs);
  const moved = Array.from({ length: shardCount }, (_, shard) => shard).filter((shard) => shard % 2 === 0);
  for (const vb of moved) assert.equal(a.store('k', vb, { value: 'kept' }), Status.success);
  const goal = Array.from({ length: shardCount }, () => [1]);
  const first = map.store.revision();
  await map.move(goal, 'plan');
  await clock.until(map.orchestrate(1, 1));
  const writes = map.store.revision() - first - 1;
  assert.ok(writes <= 4 * moved.length, `${writes} writes of the map`);
  await clock.run(1_000);
  for (const vb of moved)
    assert.equal(a.bucket.columns.highSeqno[vb], 0, 'the moved vbucket was not removed');
  for (const node of nodes) node.crash();
});

test('shards whose documents do not change keep their copies and histories while they move', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 1);
  const { clock, log, map } = cluster;
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => cluster.start(name)));
  await clock.run(startMs);
  const activeOf = (vb: number) => nodes.find((node) => node.bucket.documents.isActive(vb));
  const vbs = Array.from({ length: vbucketCount }, (_, vb) => vb);
  for (const vb of vbs) assert.equal(activeOf(vb)?.store('k', vb, { value: 'kept' }), Status.success);
  await clock.run(100);
  const uuids = vbs.map(() => new Set<number>());
  for (let step = 1; step <= 6; step++) {
    const chains = Array.from({ length: shardCount }, (_, shard) => [(shard + step) % 3, (shard + 1) % 3]);
    for (const chain of chains) if (chain[0] === chain[1]) chain[1] = ((chain[0] as number) + 2) % 3;
    await map.move(chains, `${step}`);
    let isMoved = false;
    void map.orchestrate().then(() => {
      isMoved = true;
    });
    for (let i = 0; !isMoved; i++) {
      assert.ok(i < 1_000, 'the shards move');
      await clock.run(5);
      for (const vb of vbs) assert.notEqual(activeOf(vb)?.bucket.progress.hasMajority(vb), false);
    }
    await clock.run(500);
    for (const vb of vbs) {
      const entries = activeOf(vb)?.bucket.changes.failoverLog(vb) ?? [];
      for (const { uuidHi, uuidLo } of entries) uuids[vb]?.add(uuidHi * 2 ** 32 + uuidLo);
      assert.equal(entries.length, uuids[vb]?.size, `vbucket ${vb} keeps its uuids`);
    }
  }
  assert.deepEqual([log.rolledBack, log.emptied], [[], []]);
  for (const node of nodes) node.crash();
});

test('a shard that was handed over is served without an answer of the node that had it', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b'], 1);
  const { clock, links, map } = cluster;
  const nodes = await Promise.all(['a', 'b'].map((name) => cluster.start(name)));
  const [a, b] = nodes as [ReplicatedNode, ReplicatedNode];
  await clock.run(startMs);
  assert.equal(a.store('k', 0, { value: 'kept' }), Status.success);
  await clock.run(50);
  await map.move(
    Array.from({ length: shardCount }, () => [1, 0]),
    'plan',
  );
  void map.orchestrate();
  for (let i = 0; (await map.shards())[0]?.chain[0] !== 1; i++) {
    assert.ok(i < 1_000, 'the active hands the shard over');
    await clock.run(1);
  }
  links.cut('a', 'b');
  links.cut('b', 'a');
  await clock.run(100);
  const [newest, before] = b.bucket.changes.failoverLog(0);
  assert.deepEqual([newest?.seqno, before], [1, a.bucket.changes.failoverLog(0)[0]], 'streams continue');
  assert.equal(b.store('k', 0, { value: 'next' }), Status.success);
  for (const node of nodes) node.crash();
});

for (const { goal, moved, names, replicas } of [
  { moved: 'a single copy that moves', names: ['a', 'b'], replicas: 0, goal: [1] },
  { moved: 'a shard that moves to two new nodes', names: ['a', 'b', 'c', 'd'], replicas: 1, goal: [2, 3] },
])
  test(`${moved} is on the disk of the next active before the nodes that had it leave`, async (t) => {
    const cluster = new ReplicatedCluster(aSeed(t), names, replicas);
    const { clock, map } = cluster;
    const disks = names.map(() => new MemoryDisk());
    const start = (name: string, at: number, boot: number): Promise<ReplicatedNode> =>
      cluster.start(name, `${name} ${boot}`, disks[at]);
    const nodes = await Promise.all(names.map((name, at) => start(name, at, 1)));
    const [a] = nodes as [ReplicatedNode];
    await clock.run(startMs);
    const persisted = { durability: DurabilityLevel.persistToMajority } as const;
    assert.equal(a.store('k', 0, { value: 'kept', ...persisted }), Status.success);
    const token = a.result.pending;
    await clock.run(1_000);
    assert.equal(a.resolved.get(token), Status.success);
    const chains = (await map.shards()).map(({ chain }, shard) => (shard === 0 ? goal : chain));
    await map.move(chains, 'plan');
    void map.orchestrate(1);
    const left = async (): Promise<boolean> =>
      (await map.shards())[0]?.inSync?.every(([position]) => goal.includes(position)) === true;
    for (let i = 0; !(await left()); i++) {
      assert.ok(i < 4_000, 'the others leave');
      await clock.run(1);
    }
    for (const node of nodes) node.crash();
    for (const at of goal) disks[at]?.crash();
    const again = await Promise.all(goal.map((at) => start(names[at] as string, at, 2)));
    await clock.run(servingMs);
    assert.match(String(again[0]?.read('k', 0)), /^\["kept"/);
    for (const node of again) node.crash();
  });

test('a handover makes requests wait only after the disk of the next active has the documents with which the copy was filled', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b'], 0);
  const { clock, map } = cluster;
  const disk = new MemoryDisk({ sync: () => clock.sleep(100) });
  const a = await cluster.start('a', 'a 1', new MemoryDisk());
  const b = await cluster.start('b', 'b 1', disk);
  await clock.run(startMs);
  const vbs = [0, 2];
  for (const vb of vbs) for (let i = 0; i < 50; i++) a.store(`k${i}`, vb);
  await clock.run(1_000);
  const [held, longestMs] = [new Map<number, number>(), new Map<number, number>()];
  const { bucket } = a;
  const handOver = bucket.handOver.bind(bucket);
  bucket.handOver = (of, isUnderWay, staysActive) => {
    handOver(of, isUnderWay, staysActive);
    if (isUnderWay) held.set(of[0] as number, clock.monotonicMs());
  };
  await map.move(
    Array.from({ length: shardCount }, () => [1]),
    'plan',
  );
  let isOver = false;
  void map.orchestrate(10).then(() => {
    isOver = true;
  });
  while (!isOver) {
    await clock.run(1);
    for (const [vb, sinceMs] of held)
      if (b.bucket.documents.isActive(vb)) {
        longestMs.set(vb, clock.monotonicMs() - sinceMs);
        held.delete(vb);
      }
  }
  assert.equal(longestMs.size, 2);
  // The requests wait for one sync, which writes the epoch, and for no other write.
  for (const [vb, ms] of longestMs) assert.ok(ms < 150, `requests for vbucket ${vb} waited for ${ms} ms`);
  for (const node of [a, b]) node.crash();
});

test('a collection that is created while a shard is handed over changes nothing in what its old active has', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b'], 1);
  const { clock, map } = cluster;
  const nodes = await Promise.all(['a', 'b'].map((name) => cluster.start(name)));
  const [a, b] = nodes as [ReplicatedNode, ReplicatedNode];
  await clock.run(startMs);
  assert.equal(a.store('k', 0), Status.success);
  await clock.run(50);
  const collections = [
    { name: '_default', uid: '0' },
    { name: 'c', uid: '8' },
  ];
  const manifest = { uid: '1', scopes: [{ name: '_default', uid: '0', collections }] };
  const { bucket } = a;
  const [drop, handOver] = [bucket.drop.bind(bucket), bucket.handOver.bind(bucket)];
  bucket.handOver = (vbs, isUnderWay, staysActive) => {
    handOver(vbs, isUnderWay, staysActive);
    if (vbs.includes(0) && isUnderWay) for (const node of nodes) node.bucket.applyManifest(manifest);
  };
  const emptied: number[] = [];
  bucket.drop = (vbs) => {
    emptied.push(...vbs);
    return drop(vbs);
  };
  await map.move(
    Array.from({ length: shardCount }, () => [1, 0]),
    'plan',
  );
  await clock.until(map.orchestrate());
  await clock.run(1_000);
  assert.deepEqual(
    [a, b].map(({ bucket }) => bucket.columns.highSeqno[0]),
    [2, 2],
  );
  assert.deepEqual(emptied, []);
  for (const node of nodes) node.crash();
});
