// Limits that buckets share: memory and names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const buckets = '/pools/default/buckets';
const tooLarge = 'RAM quota specified is too large to be provisioned into this cluster.';

test('the quota check counts the memory of all buckets together, and to the last megabyte', async () => {
  const { request } = await aManager();
  const create = async (name: string, ramQuota: number) => {
    const { status, body } = await request(buckets, { form: { name, ramQuota, replicaNumber: 0 } });
    return status === 202 ? 202 : body.errors;
  };
  // The cluster has 1,024 MB.
  assert.equal(await create('a', 300), 202);
  assert.equal(await create('b', 200), 202);
  assert.equal(await create('c', 250), 202);
  assert.deepEqual(await create('d', 275), { ramQuota: tooLarge });
  assert.equal(await create('d', 274), 202);
  const grow = async (ramQuota: number) => (await request(`${buckets}/b`, { form: { ramQuota } })).status;
  assert.equal(await grow(201), 400);
  assert.equal((await request(`${buckets}/c`, { method: 'DELETE' })).status, 200);
  assert.equal(await grow(450), 200);
  assert.equal(await grow(451), 400);
});

test('a name is reserved in any case, until its bucket is deleted', async () => {
  const { request, kv } = await aManager();
  const create = (name: string) => request(buckets, { form: { name, ramQuota: 100, replicaNumber: 0 } });
  assert.equal((await create('Shop')).status, 202);
  assert.equal((await create('sHOP')).status, 400);
  const apply = kv.apply.bind(kv);
  const filesRemoved = Promise.withResolvers<void>();
  const applying = Promise.withResolvers<void>();
  kv.apply = async (desired) => {
    applying.resolve();
    await filesRemoved.promise;
    return apply(desired);
  };
  const removal = request(`${buckets}/Shop`, { method: 'DELETE' });
  await applying.promise;
  for (const name of ['Shop', 'sHOP']) {
    const early = await create(name);
    assert.deepEqual(
      [early.status, early.body.errors],
      [503, { _: 'Bucket with given name still exists' }],
      name,
    );
  }
  filesRemoved.resolve();
  assert.equal((await removal).status, 200);
  assert.equal((await create('sHOP')).status, 202);
});
