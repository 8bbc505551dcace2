// Copies with writes that a failover undid: they are rolled back by key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import { type ReplicatedNode as Node, ReplicatedCluster } from '../../../test/support/replicated-cluster.ts';

type Test = Parameters<typeof aSeed>[0];
const keyOf = (i: number): string => `k${i}`;

/** What differs between two copies of a vbucket; the keys are those that anyone has written. */
function difference(copy: Node, active: Node, keys: readonly string[], vb = 0): string | null {
  for (const key of keys) {
    const [found, expected] = [copy.read(key, vb), active.read(key, vb)];
    if (found !== expected) return `${key}: ${found}, the active has ${expected}`;
  }
  for (const column of [
    'highSeqno',
    'items',
    'tombstones',
    'nonResidentItems',
    'nonResidentValues',
  ] as const) {
    const [has, should] = [copy, active].map(({ bucket }) => bucket.columns[column][vb]);
    if (has !== should) return `${column}: ${has}, the active has ${should}`;
  }
  return null;
}

/** `a` is the active, and has 100 documents that `b` and `c` have too; then `b` gets nothing more. */
async function aDivergedCopy(
  t: Test,
  change: (a: Node) => void,
  prepare: (nodes: { a: Node; b: Node; c: Node }) => unknown = () => {},
) {
  const names = ['a', 'b', 'c'];
  const cluster = new ReplicatedCluster(aSeed(t), names, 2);
  const { clock, links, map } = cluster;
  const disks = names.map(() => new MemoryDisk());
  const nodes = await Promise.all(names.map((name, i) => cluster.start(name, `${name} 1`, disks[i])));
  const [a, b, c] = nodes as [Node, Node, Node];
  await clock.run(4_000);
  for (let i = 0; i < 100; i++) assert.equal(a.store(keyOf(i), 0, { value: `${i}` }), Status.success);
  for (let i = 90; i < 100; i++) assert.equal(a.remove(keyOf(i), 0), Status.success);
  await clock.run(1_000);
  links.cut('a', 'b');
  change(a);
  prepare({ a, b, c });
  await clock.run(20);
  a.crash();
  links.restoreAll();
  await map.nameActive(0, 'b');
  await clock.run(9_000);
  return { cluster, disks, nodes, a, b, c };
}

const keys = [...Array.from({ length: 100 }, (_, i) => keyOf(i)), 'lost', 'new'];
const isMember = async ({ map }: ReplicatedCluster, at = 2): Promise<boolean> =>
  (await map.shards())[0]?.inSync?.some(([position]) => position === at) ?? false;

/** Resolves once the copy has left the set, was rolled back or emptied, and has joined again. */
async function untilJoinedAgain(cluster: ReplicatedCluster): Promise<void> {
  const { clock, log } = cluster;
  const isDone = async (): Promise<boolean> =>
    log.rolledBack.length + log.emptied.length > 0 && (await isMember(cluster));
  for (let ms = 0; !(await isDone()); ms += 10) {
    assert.ok(ms < 20_000, 'the copy does not join again');
    await clock.run(10);
  }
  await clock.run(2_000);
}

test('a copy with writes that a failover took back receives the earlier versions of these keys and nothing else', async (t) => {
  const { cluster, b, c } = await aDivergedCopy(t, (a) => {
    a.store('lost', 0);
    a.store('k1', 0, { value: 'lost' });
    a.remove('k2', 0);
    a.store('k95', 0, { value: 'lost' });
  });
  let applied = 0;
  const apply = c.bucket.applier.apply.bind(c.bucket.applier);
  c.bucket.applier.apply = (vb, item) => {
    if (vb === 0) applied++;
    return apply(vb, item);
  };
  await untilJoinedAgain(cluster);
  assert.equal(difference(c, b, keys), null);
  assert.deepEqual(
    cluster.log.rolledBack.map(({ documents, removed, vbucket }) => [vbucket, removed, documents]),
    [[0, 4, 3]],
  );
  assert.equal(applied, 0);
  assert.deepEqual(cluster.log.emptied, []);
  for (const node of [b, c]) node.crash();
});

test('a copy without deletions whose tombstones its active has purged meanwhile is emptied and filled again', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, links, map } = cluster;
  const nodes = await Promise.all(cluster.names.map((name) => cluster.start(name)));
  const [a, , c] = nodes as [Node, Node, Node];
  await clock.run(4_000);
  for (let i = 0; i < 20; i++) assert.equal(a.store(keyOf(i), 0), Status.success);
  await clock.run(1_000);
  links.cut('a', 'c');
  for (let i = 0; i < 5; i++) assert.equal(a.remove(keyOf(i), 0), Status.success);
  await clock.run(4_000);
  assert.equal((await map.shards())[0]?.inSync?.length, 2);
  a.bucket.compaction.begin({ origin: 'bucket', purgeBeforeSeconds: 'all' });
  assert.equal(a.store('new', 0), Status.success);
  await clock.run(1_000);
  assert.equal(a.bucket.columns.purgeSeqno[0], 25);
  links.restoreAll();
  await untilJoinedAgain(cluster);
  assert.equal(difference(c, a, keys), null);
  for (const node of nodes) node.crash();
});

test('a copy is emptied and filled again if it has too many writes, if deletions were purged, or if its active is a node of an older version', async (t) => {
  const few = (a: Node): void => void a.store('lost', 0);
  const cases: Record<string, (nodes: { a: Node; b: Node; c: Node }) => unknown> = {
    'too much': ({ a }) => {
      for (let i = 0; i < 30; i++) a.store(keyOf(i), 0, { value: 'lost' });
    },
    'purged here': ({ c }) => {
      c.bucket.columns.purgeSeqno[0] = 1_000;
    },
    'purged there': ({ b }) => {
      b.bucket.columns.purgeSeqno[0] = 1_000;
    },
    'an older active': ({ b }) => {
      Reflect.set(Reflect.get(b.replication, 'peers') as object, 'rollsBack', () => false);
    },
  };
  for (const [name, act] of Object.entries(cases)) {
    const { cluster, b, c } = await aDivergedCopy(t, few, act);
    await untilJoinedAgain(cluster);
    assert.deepEqual([cluster.log.rolledBack.length, cluster.log.emptied.length > 0], [0, true], name);
    b.bucket.columns.purgeSeqno[0] = 0;
    assert.equal(difference(c, b, keys), null, name);
    for (const node of [b, c]) node.crash();
  }
});

test('a copy whose process ends during the rollback is rolled back by the next process', async (t) => {
  let release = (): void => {};
  const { cluster, b, c, disks } = await aDivergedCopy(t, (a) => {
    a.store('lost', 0);
    a.remove('k2', 0);
  });
  const { clock, log } = cluster;
  const rollBack = c.bucket.rollbacks.rollBack.bind(c.bucket.rollbacks);
  let isHeld = false;
  c.bucket.rollbacks.rollBack = async (...args) => {
    isHeld = true;
    await new Promise<void>((free) => {
      release = free;
    });
    return rollBack(...args);
  };
  for (let ms = 0; !isHeld; ms += 10) {
    assert.ok(ms < 20_000, 'the rollback does not begin');
    await clock.run(10);
  }
  assert.equal(await isMember(cluster), false, 'the copy is rolled back while it is in the in-sync set');
  assert.equal(c.read('k8', 0), Status.temporaryFailure, 'the copy answers reads while it is rolled back');
  c.crash();
  disks[2]?.crash();
  release();
  const again = await cluster.start('c', 'c 2', disks[2]);
  await untilJoinedAgain(cluster);
  assert.equal(log.rolledBack.length, 1);
  assert.equal(difference(again, b, keys), null);
  for (const node of [b, again]) node.crash();
});

test('a copy that lacks keys which its active has changed again joins only once it has them', async (t) => {
  const { cluster, b, c } = await aDivergedCopy(t, (a) => {
    a.store('k1', 0, { value: 'lost' });
    a.store('k3', 0, { value: 'lost' });
  });
  const { clock, log } = cluster;
  const older = b.bucket.rollbacks.olderVersions.bind(b.bucket.rollbacks);
  // The active changes one of the keys just before it answers, and others later.
  b.bucket.rollbacks.olderVersions = (request) => {
    if (b.bucket.documents.isActive(0)) b.store('k1', 0, { value: 'again' });
    return older(request);
  };
  for (let i = 0; log.rolledBack.length === 0; i++) {
    assert.ok(i < 2_000, 'the copy is not rolled back');
    await clock.run(10);
    assert.ok(
      log.rolledBack.length > 0 || !(await isMember(cluster)) || c.read('k1', 0) !== Status.keyNotFound,
    );
  }
  for (let i = 0; i < 5; i++) b.store(keyOf(i), 0, { value: `later ${i}` });
  await untilJoinedAgain(cluster);
  assert.equal(difference(c, b, keys), null);
  for (const node of [b, c]) node.crash();
});

test('a copy whose active does not answer keeps its changes until the next active rolls it back', async (t) => {
  const { cluster, b, c } = await aDivergedCopy(t, (a) => {
    a.store('lost', 0);
  });
  const { clock, log } = cluster;
  let asked = 0;
  const older = b.bucket.rollbacks.olderVersions.bind(b.bucket.rollbacks);
  b.bucket.rollbacks.olderVersions = (request) => (asked++ === 0 ? new Promise(() => {}) : older(request));
  for (let i = 0; asked === 0; i++) {
    assert.ok(i < 2_000, 'the active is not asked for older versions');
    await clock.run(10);
  }
  await clock.run(5_000);
  assert.notEqual(Reflect.get(c.bucket.columns, 'highSeqno')[0], 0);
  await untilJoinedAgain(cluster);
  assert.deepEqual([asked, log.rolledBack.length, log.emptied.length], [2, 1, 0]);
  assert.equal(difference(c, b, keys), null);
  for (const node of [b, c]) node.crash();
});
