// Forms of buckets as the published server reads them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const path = '/pools/default/buckets';
const newBucket = { name: 'b', ramQuotaMB: 100 };

test('the bucket form uses ramQuota if both names of the quota are sent', async () => {
  const { request } = await aManager();
  await request(path, { form: { ...newBucket, ramQuota: 200 } });
  assert.equal((await request(`${path}/b`)).body.quota.rawRAM, 200 * 1024 * 1024);
});

test('the bucket form refuses auto-compaction of an ephemeral bucket and an unknown mode, and names the field', async () => {
  const { request } = await aManager();
  const ephemeral = { ...newBucket, bucketType: 'ephemeral', autoCompactionDefined: 'false' };
  assert.deepEqual((await request(path, { form: ephemeral })).body.errors, {
    autoCompactionDefined: 'autoCompactionDefined must not be set for ephemeral buckets',
  });
  const compactionForm = { autoCompactionDefined: 'true', parallelDBAndViewCompaction: 'false' };
  const { status, body } = await request(path, {
    form: { ...newBucket, ...compactionForm, indexCompactionMode: 'x' },
  });
  assert.deepEqual([status, Object.keys(body.errors)], [400, ['indexCompactionMode']]);
});

test('the bucket form ignores the durability level of a memcached bucket', async () => {
  const { request } = await aManager();
  const form = { ...newBucket, bucketType: 'memcached', durabilityMinLevel: 'majority' };
  assert.equal((await request(path, { form })).status, 202);
});
