import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { aTarget, targetUuid } from '../../../test/support/xdcr-target.ts';

test('the node takes defaults of replications from the internal settings that were set', async () => {
  const { request } = await aManager({ callTarget: aTarget({}) });
  const post = (path: string, form: Record<string, string>) => request(path, { method: 'POST', form });
  await post('/pools/default/buckets', { name: 'b', ramQuotaMB: '100' });
  const reference = { name: 'there', hostname: 'far:8091', username: 'u', password: 'pw' };
  await post('/pools/default/remoteClusters', reference);
  const defaults = async () => (await request('/settings/replications')).body;
  assert.equal((await defaults()).checkpointInterval, 600);
  // docBatchSizeKb of a replication is at most 10000: a greater internal setting counts as that.
  const form = { xdcrCheckpointInterval: '61', xdcrWorkerBatchSize: '501', xdcrDocBatchSizeKb: '100000' };
  assert.equal((await post('/internalSettings', form)).status, 200);
  const changed = await post('/settings/replications', { workerBatchSize: '10' });
  for (const { checkpointInterval, workerBatchSize, docBatchSizeKb, failureRestartInterval } of [
    changed.body,
    await defaults(),
  ])
    assert.deepEqual(
      [checkpointInterval, workerBatchSize, docBatchSizeKb, failureRestartInterval],
      [61, 10, 10_000, 10],
    );
  await post('/controller/createReplication', {
    fromBucket: 'b',
    toCluster: 'there',
    toBucket: 'taken',
    replicationType: 'continuous',
    docBatchSizeKb: '20',
  });
  const { body } = await request(`/settings/replications/${encodeURIComponent(`${targetUuid}/b/taken`)}`);
  assert.deepEqual([body.checkpointInterval, body.workerBatchSize, body.docBatchSizeKb], [61, 10, 20]);
});
