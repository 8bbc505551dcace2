// Copies that are emptied and filled again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { aSeed } from '../../../test/support/random.ts';
import { type ReplicatedNode as Node, ReplicatedCluster } from '../../../test/support/replicated-cluster.ts';

test('a copy that was removed without its active having seen that map is filled before it joins', async (t) => {
  const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b', 'c'], 2);
  const { clock, map } = cluster;
  const nodes = await Promise.all(cluster.names.map((name) => cluster.start(name)));
  const [active, , copy] = nodes as [Node, Node, Node];
  await clock.run(4_000);
  for (let i = 0; i < 20; i++) assert.equal(active.store(`k${i}`, 0), Status.success);
  await clock.run(100);
  const high = (node: Node): number => node.bucket.rows.highSeqno[0] as number;
  assert.equal(high(copy), high(active));
  active.receivesMap = false;
  await map.place(0, [0, 1]);
  await clock.run(2_000);
  assert.equal(high(copy), 0, 'it has removed its copy');
  active.receivesMap = true;
  await map.place(0, [0, 1, 2]);
  const isMember = async () => (await map.shards())[0]?.inSync?.some(([position]) => position === 2);
  for (let i = 0; !(await isMember()); i++) {
    assert.ok(i < 10_000, 'it joins again');
    await clock.run(1);
  }
  assert.equal(high(copy), high(active));
  for (const node of nodes) node.crash();
});
