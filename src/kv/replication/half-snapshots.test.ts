// A copy that was cut off inside of a snapshot and becomes active: what others have of that snapshot, and what its streams show.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { rollbackSeqno } from '#kv/stream/rollback.ts';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import { type ReplicatedNode as Node, ReplicatedCluster } from '../../../test/support/replicated-cluster.ts';

type Test = Parameters<typeof aSeed>[0];
const names = ['a', 'b', 'c'];
const laterKeys = Array.from({ length: 6 }, (_, i) => `later ${i}`);
const oldKeys = ['twice', ...Array.from({ length: 99 }, (_, i) => `old ${i}`)];
const keys = [...oldKeys, 'once', ...laterKeys, 'new'];

/**
 * Node `a` is the active. Node `c` receives the first two changes of a snapshot, node `b` does not. Later `b` receives a part of the whole
 * snapshot and becomes active. One of the two changes is not in that part, since the last change of the snapshot has replaced it.
 */
async function aHalfReceivedSnapshot(t: Test) {
  const cluster = new ReplicatedCluster(aSeed(t), names, 2);
  const { clock, links, map } = cluster;
  const disks = names.map(() => new MemoryDisk());
  const nodes = await Promise.all(names.map((name, i) => cluster.start(name, `${name} 1`, disks[i])));
  const [a, b, c] = nodes as [Node, Node, Node];
  await clock.run(4_000);
  for (const key of oldKeys) assert.equal(a.store(key, 0, { value: 'old' }), Status.success);
  await clock.run(500);
  const { columns } = b.bucket;
  const whole = columns.highSeqno[0] as number;
  // All nodes stay in the in-sync set.
  a.holdMapChanges();
  links.cut('a', 'b');
  for (const key of ['twice', 'once']) a.store(key, 0, { value: 'first' });
  await clock.run(50);
  links.cut('a', 'c');
  for (const key of laterKeys) a.store(key, 0);
  a.store('twice', 0, { value: 'again' });
  const { applier } = b.bucket;
  const apply = applier.apply.bind(applier);
  let isHalf = false;
  applier.apply = (vb, item) => {
    if (vb !== 0 || item.seqno < whole + 5) return apply(vb, item);
    isHalf = true;
    // Node b has no memory for more changes.
    return Status.temporaryFailure;
  };
  links.restore('a', 'b');
  for (let ms = 0; !isHalf; ms++) {
    assert.ok(ms < 10_000, 'node b receives no part of the snapshot');
    await clock.run(1);
  }
  a.crash();
  const [high, end] = [columns.highSeqno[0] as number, columns.snapEnd[0] as number];
  assert.ok(high > whole + 2 && high < end, 'node b has not exactly a part of the snapshot');
  assert.match(String(b.read('twice', 0)), /^\["old"/);
  assert.deepEqual([c.bucket.columns.highSeqno[0], c.bucket.columns.snapEnd[0]], [whole + 2, whole + 2]);
  applier.apply = apply;
  const history = b.bucket.changes.failoverLog(0)[0];
  await map.nameActive(0, 'b');
  for (let ms = 0; !b.bucket.documents.isActive(0); ms += 10) {
    assert.ok(ms < 15_000, 'node b does not become active');
    await clock.run(10);
    b.tick();
  }
  return { cluster, b, c, whole, high, end, history };
}

function differences(copy: Node, active: Node): string[] {
  const differing = keys.filter((key) => copy.read(key, 0) !== active.read(key, 0));
  const columns = (['highSeqno', 'items', 'tombstones'] as const).filter(
    (column) => copy.bucket.columns[column][0] !== active.bucket.columns[column][0],
  );
  return [...differing, ...columns];
}

test('a copy with versions that a new active lacks, because the active has only a part of a snapshot, becomes equal to the active', async (t) => {
  const { cluster, b, c, whole } = await aHalfReceivedSnapshot(t);
  const { clock, log, map } = cluster;
  b.store('new', 0, { value: '1' });
  const isMember = async (): Promise<boolean> =>
    (await map.shards())[0]?.inSync?.some(([position]) => position === 2) ?? false;
  await clock.run(1_000);
  for (let ms = 0; !(await isMember()); ms += 10) {
    assert.ok(ms < 20_000, 'the copy does not join');
    await clock.run(10);
  }
  await clock.run(1_000);
  assert.deepEqual(differences(c, b), []);
  assert.deepEqual(
    log.rolledBack.map(({ seqno }) => seqno),
    [whole],
  );
  assert.deepEqual(log.emptied, []);
  b.store('twice', 0, { value: 'later', durability: DurabilityLevel.majority });
  const token = b.result.pending;
  await clock.run(100);
  assert.equal(b.resolved.get(token), Status.success);
  assert.deepEqual(differences(c, b), []);
  for (const node of [b, c]) node.crash();
});

test('a new active with a part of a snapshot sends all its changes to streams, and rolls back clients that may have received more', async (t) => {
  const { cluster, b, c, whole, high, history } = await aHalfReceivedSnapshot(t);
  const { changes } = b.bucket;
  await cluster.clock.run(3_000);
  assert.equal(changes.safeSeqno(0), changes.highSeqno(0));
  assert.ok(changes.highSeqno(0) >= high);
  const known = { uuidHi: history?.uuidHi ?? 0, uuidLo: history?.uuidLo ?? 0 };
  const rollbackOf = (seqno: number): number =>
    rollbackSeqno(
      { startSeqno: seqno, snapStart: seqno, snapEnd: seqno, ...known },
      { failoverLog: changes.failoverLog(0), highSeqno: high, purgeSeqno: 0, strictUuid: false },
    );
  assert.deepEqual([whole, whole + 2, high].map(rollbackOf), [-1, whole, whole]);
  for (const node of [b, c]) node.crash();
});
