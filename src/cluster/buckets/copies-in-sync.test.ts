// Durable writes are possible right after a bucket was created or flushed: the answer waits for its copies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketsServiceOn } from '../../../test/support/buckets-service.ts';
import { aCluster, memoryCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { type BucketMap, mapKey } from '../config/cluster-state.ts';

async function aServiceOfTwoNodes() {
  const nodes = [...aCluster().nodes, nodeNamed('other')];
  const cluster = await memoryCluster(1024, aCluster({ nodes }));
  const { store, view } = cluster;
  const service = bucketsServiceOn(cluster);
  /** Puts the first `copies` nodes of each chain into the in-sync set. */
  const sync = async (copies: number): Promise<void> => {
    const key = mapKey(view.liveBucket('b')?.uuid ?? '');
    const found = await store.get<BucketMap>(key);
    assert.ok(found);
    const shards = found.value.shards.map((shard) => ({
      ...shard,
      inSync: shard.chain.slice(0, copies).map((at) => [at, 'boot'] as const),
    }));
    await store.put(key, { ...found.value, shards }, found.revision);
  };
  return { ...cluster, service, sync };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
};

test('a creation and a flush are answered once the copies of the bucket are in sync, or after ten seconds', async () => {
  const { clock, service, sync } = await aServiceOfTwoNodes();
  const form = { name: 'b', ramQuotaMB: '100', replicaNumber: '1', flushEnabled: '1' };
  const steps = [() => service.create(form, false), () => service.flush('b'), () => service.flush('b')];
  for (const [index, begin] of steps.entries()) {
    if (index > 0) await sync(1);
    let isAnswered = false;
    const answer = begin().then(() => {
      isAnswered = true;
    });
    await turns();
    clock.advance(9_000);
    await turns();
    assert.equal(isAnswered, false);
    if (index < 2) await sync(2);
    else clock.advance(1_000);
    await answer;
  }
});
