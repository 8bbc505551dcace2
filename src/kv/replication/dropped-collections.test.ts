// Documents of dropped collections on copies of buckets without a disk, where no tombstones arrive for them.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Status } from '#wire/status.ts';
import { manifestOf } from '../../../test/support/manifest-of.ts';
import { aSeed } from '../../../test/support/random.ts';
import { ReplicatedCluster, type ReplicatedNode } from '../../../test/support/replicated-cluster.ts';

const [created, dropped] = [manifestOf([0, 8], 1), manifestOf([0], 2)];
const vb = 0;

const itemsOf = ({ bucket }: ReplicatedNode) => bucket.columns.items[vb];

for (const [first, second] of [
  ['a', 'b'],
  ['b', 'a'],
] as const)
  it(`are freed when ${first} learns of the drop before ${second}; a is the active`, async (t) => {
    const cluster = new ReplicatedCluster(aSeed(t), ['a', 'b'], 1);
    const { clock } = cluster;
    const nodes = await Promise.all(['a', 'b'].map((name) => cluster.start(name)));
    const [a] = nodes as [ReplicatedNode];
    const named = (name: string) => nodes.find((node) => node.name === name) as ReplicatedNode;
    await clock.run(4_000);
    for (const { bucket } of nodes) bucket.applyManifest(created);
    for (const key of ['8:early', 'kept']) assert.equal(a.store(key, vb), Status.success);
    await clock.run(1_000);
    assert.deepEqual(nodes.map(itemsOf), [2, 2]);
    named(first).bucket.applyManifest(dropped);
    await clock.run(1_000);
    // The active that does not know of the drop yet still accepts documents.
    if (first === 'b') assert.equal(a.store('8:late', vb), Status.success);
    await clock.run(1_000);
    named(second).bucket.applyManifest(dropped);
    await clock.run(5_000);
    assert.deepEqual(nodes.map(itemsOf), [1, 1]);
    assert.deepEqual(
      nodes.map((node) => node.read('kept', vb)),
      nodes.map(() => a.read('kept', vb)),
    );
    for (const node of nodes) node.crash();
  });
