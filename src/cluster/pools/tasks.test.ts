// Background tasks of all nodes of a cluster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figures, memoryCluster, nodeNamed } from '../../../test/support/cluster.ts';
import type { MeasuredBucket } from '../config/data-service.ts';
import { tasks } from './tasks.ts';

test('the task list adds up the compaction of a bucket over all nodes, and lists each node that warms up', async () => {
  const { view } = await memoryCluster();
  const bucket = { name: 'b', uuid: 'u' };
  const { cluster, self } = view;
  const shown = { cluster, self, liveBuckets: () => [bucket], deletingBuckets: () => [] } as never;
  const nodeWith = (id: string, changes: Partial<MeasuredBucket>) => ({
    node: nodeNamed(id, { otpNode: `ns_1@${id}` }),
    measured: new Map([['u', figures(changes)]]),
  });
  const nodes = [
    nodeWith('one', { compaction: { origin: 'automatic', done: 10, total: 100 } }),
    nodeWith('two', { compaction: { origin: 'bucket', done: 50, total: 100 } }),
    nodeWith('three', { state: 'warmup' }),
  ];
  const found = tasks(shown, nodes, {}, null, []);
  const [compaction, ...others] = found.filter(({ type }) => type === 'bucket_compaction');
  assert.equal(others.length, 0);
  assert.deepEqual(
    [
      compaction?.['changesDone'],
      compaction?.['totalChanges'],
      compaction?.['progress'],
      compaction?.['cancelURI'],
    ],
    [60, 200, 30, '/pools/default/buckets/b/controller/cancelBucketCompaction'],
  );
  const warming = found.filter(({ type }) => type === 'warming_up').map(({ node }) => node);
  assert.deepEqual(warming, ['ns_1@three']);
});
