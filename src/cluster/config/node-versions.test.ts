// A cluster whose nodes are of two versions.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nodeNamed } from '../../../test/support/cluster.ts';
import { managedCluster } from '../../../test/support/manager.ts';
import type { NodeState } from './cluster-state.ts';
import { clusterVersion, olderNodes, ownVersion, releaseName, since } from './node-versions.ts';
import { commonCompatibility } from './product.ts';

/** The entry of a node of 0.2 in the configuration: it has no version. */
function ofEarlierVersion(id: string): NodeState {
  const { version: _, ...node } = nodeNamed(id);
  return node;
}

it('a cluster has the version of its oldest node', () => {
  const [older, newer, later] = [
    ofEarlierVersion('a'),
    nodeNamed('b'),
    nodeNamed('c', { version: ownVersion + 1 }),
  ];
  assert.equal(clusterVersion([newer, later]), ownVersion);
  assert.equal(clusterVersion([newer, older, later]), 1);
  assert.deepEqual(olderNodes([older, newer, later], 2), ['ns_1@a']);
  assert.equal(releaseName(ownVersion), '0.3');
});

it('every version has a release name, and no feature needs a version that does not exist', () => {
  assert.doesNotMatch(releaseName(ownVersion), /after/);
  for (const version of Object.values(since)) assert.ok(version > 1 && version <= ownVersion);
});

it('a cluster shows the version of the published protocol that all nodes know, and that of each node', async (t) => {
  assert.equal(commonCompatibility([nodeNamed('a'), nodeNamed('b', { compatibility: 458_752 })]), 458_752);
  const { request, manager } = await managedCluster([nodeNamed('b', { compatibility: 458_752 })]);
  t.after(() => manager.stop());
  const { nodes } = (await request('/pools/default')).body;
  assert.deepEqual(
    nodes.map(({ clusterCompatibility }: { clusterCompatibility: number }) => clusterCompatibility),
    [458_753, 458_752],
  );
  const { clusterCompatVersion } = (await request('/pools/default/terseClusterInfo')).body;
  assert.equal(clusterCompatVersion, '7.0');
});

it('a cluster refuses a call that needs a newer version on all nodes, and names the older nodes', async (t) => {
  const { request, manager, change } = await managedCluster([ofEarlierVersion('b')]);
  t.after(() => manager.stop());
  const create = async () => {
    const form = { fromBucket: 'b', toCluster: 'c', toBucket: 'b', replicationType: 'continuous' };
    const { status, text } = await request('/controller/createReplication', { method: 'POST', form });
    return [status, text] as const;
  };
  const needed = 'This call needs version 0.3 on all nodes. Upgrade first: ns_1@b';
  assert.deepEqual(await create(), [400, needed]);
  await change((state) => ({
    ...state,
    nodes: state.nodes.map((node) => ({ ...node, version: ownVersion })),
  }));
  assert.notEqual((await create())[1], needed);
});
