import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { aCluster, memoryCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { ClusterStore } from '../config/cluster.store.ts';
import type { ClusterState } from '../config/cluster-state.ts';
import { AbandonedJoins } from './remove-node.ts';

test('a join that was abandoned is removed once the configuration can be changed', async () => {
  const clock = new SimulatedClock();
  const joining = nodeNamed('b', { membership: 'inactiveAdded', joining: true });
  const { store, view } = await memoryCluster(1024, aCluster({ nodes: [...aCluster().nodes, joining] }));
  const cluster = new ClusterStore(store, ownNodeId);
  let isAway = true;
  const change = (changed: (state: ClusterState) => ClusterState) =>
    isAway ? Promise.reject(new Error('the founder is away')) : cluster.change(changed);
  const joins = new AbandonedJoins({ view, cluster: { change }, clock, log: silentLog });
  joins.start();
  await clock.run(400_000);
  assert.equal(view.cluster.nodes.length, 2);
  isAway = false;
  await clock.run(60_000);
  assert.equal(view.cluster.nodes.length, 1);
  joins.stop();
});
