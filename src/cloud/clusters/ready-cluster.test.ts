import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import type { OperationsStore } from '../operations/operations.store.ts';
import type { ClusterNodes } from './cluster-nodes.ts';
import { ReadyClusters } from './ready-cluster.ts';

test('the look-up of a ready cluster finds none that was deleted while the body of a request arrived', async () => {
  const nodes = { clients: async () => [], founderClient: () => Promise.reject(new Error('no nodes')) };
  const ready = new ReadyClusters({
    nodes: nodes as unknown as ClusterNodes,
    operations: {} as OperationsStore,
  });
  await assert.rejects(ready.requireReady(aClusterRow()), {
    name: 'ApiError',
    errorType: 'NotFound',
    message: 'there is no cluster c',
  });
});
