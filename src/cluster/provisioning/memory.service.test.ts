import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { BucketsStore } from '../buckets/buckets.store.ts';
import { ClusterStore } from '../config/cluster.store.ts';
import { clusterKey, type NodeState } from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { noFigures } from '../nodes/system.ts';
import { MemoryService } from './memory.service.ts';

const mib = 1024 ** 2;

/** The refusal of a data quota of 3,000 MiB; null: it is accepted. `memoryMb` is that of each node, by name: this node's is `own`. */
async function refusalOf(
  memoryMb: Readonly<Record<string, number>>,
  others: readonly NodeState[],
  own: Partial<NodeState> = {},
): Promise<string | null> {
  const store = new MemoryConfigStore();
  const state = aCluster();
  await store.put(clusterKey, { ...state, nodes: [{ ...state.nodes[0], ...own }, ...others] }, 0);
  const view = new ClusterView(store, ownNodeId);
  await view.start();
  const limitOf = (node: string) => (memoryMb[node] ?? 0) * mib;
  const memory = new MemoryService({
    view,
    cluster: new ClusterStore(store, ownNodeId),
    buckets: new BucketsStore(store),
    memoryBytes: () => limitOf('own'),
    nodeFigures: {
      known(nodeId) {
        const system = { ...noFigures, memory: { ...noFigures.memory, limit: limitOf(nodeId) } };
        const figures = { version: '', os: '', uptimeSeconds: 0, measured: {}, system };
        return { problem: null, figures: memoryMb[nodeId] === undefined ? null : figures };
      },
    },
  });
  const changed = memory.changePool({ memoryQuota: '3000' }, false);
  return changed.then(
    () => null,
    (error: Error) => error.message,
  );
}

test('the quota of the data service must fit into the memory of each node that runs it, as far as that is known', async () => {
  const b = nodeNamed('b');
  assert.equal(await refusalOf({ own: 8_192, b: 8_192 }, [b]), null);
  const small = await refusalOf({ own: 8_192, b: 2_048 }, [b]);
  assert.match(small ?? '', /\(3000MB\) exceeds the maximum allowed quota \(1638MB\) on node 'ns_1@b'/);
  assert.equal(await refusalOf({ own: 8_192 }, [b]), null, 'b has not answered yet');
});

test('the quota of the data service may be larger than the memory of nodes that do not run it', async () => {
  const query = nodeNamed('b', { services: ['n1ql'] });
  assert.equal(await refusalOf({ own: 8_192, b: 1_024 }, [query]), null);
  assert.equal(await refusalOf({ own: 1_024, b: 8_192 }, [nodeNamed('b')], { services: ['n1ql'] }), null);
});
