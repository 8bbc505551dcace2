import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnwritableError } from '#base/unwritable-error.ts';
import { update } from '#replog/config-store.ts';
import { bucketsServiceOn } from '../../../test/support/buckets-service.ts';
import { memoryCluster } from '../../../test/support/cluster.ts';
import { type BucketsState, bucketsKey, mapPrefix, noBuckets } from '../config/cluster-state.ts';

async function aService() {
  const cluster = await memoryCluster(1024);
  const { store } = cluster;
  const service = bucketsServiceOn(cluster);
  return { service, store };
}

const form = { name: 'b', ramQuotaMB: '100' };

test('a new bucket is refused if a rebalance ended after its map was made, which may name a node that has left', async () => {
  const { service, store } = await aService();
  const put = store.put.bind(store);
  store.put = async (key: string, value: unknown, revision: number) => {
    const written = await put(key, value, revision);
    if (!key.startsWith(mapPrefix)) return written;
    store.put = put;
    await update<BucketsState>(store, bucketsKey, noBuckets(0), (state) => ({ ...state, endedPlan: 'p' }));
    return written;
  };
  await assert.rejects(service.create(form, false), { status: 503, message: /during rebalance/ });
  assert.deepEqual(await store.list(mapPrefix), []);
  assert.equal((await service.create(form, false)).name, 'b');
});

test('the map of a bucket that was not stored stays only where the bucket may be stored still', async () => {
  for (const isUnchanged of [false, true]) {
    const { service, store } = await aService();
    const put = store.put.bind(store);
    store.put = async (key: string, value: unknown, revision: number) => {
      if (key === bucketsKey) throw new UnwritableError('the disk is full', { isUnchanged });
      return put(key, value, revision);
    };
    await assert.rejects(service.create(form, false), /the disk is full/);
    assert.equal((await store.list(mapPrefix)).length, isUnchanged ? 0 : 1);
  }
});
