import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '#base/deferred.ts';
import type { BucketReport, CompactionRequest, KvDesired, KvReport, ShardMap } from '#kv/admin.ts';
import { silentLog } from '#ports/log.ts';
import { update } from '#replog/config-store.ts';
import type { ShardCheckpoint } from '#xdcr/xdcr.contract.ts';
import { bucketsServiceOn } from '../../../test/support/buckets-service.ts';
import { aCluster, memoryCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { aBucketReport, aKvReport } from '../../../test/support/kv-reports.ts';
import { BucketsStore } from '../buckets/buckets.store.ts';
import { bucketsKey, clusterKey, initialManifest, manifestKey, mapKey } from '../config/cluster-state.ts';
import { mapOnOneNode } from '../topology/vbucket-map.ts';
import { CheckpointsInConfig } from '../xdcr/checkpoints.store.ts';
import { Agent } from './agent.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Applies every state at once, unless `hold` is set, and records its calls. */
class FakeKv {
  received: KvDesired[] = [];
  hold: Promise<void> | null = null;
  failures = 0;
  failedFlushes = 0;
  reports = 0;
  /** Each change of this number counts as work for a client. */
  #ops = 0;
  #activity = 0;
  readonly compactions: unknown[] = [];
  readonly maps: ShardMap[] = [];

  async apply(desired: KvDesired): Promise<KvReport> {
    this.received.push(structuredClone(desired));
    await this.hold;
    if (this.failures-- > 0) throw new Error('the data service does not answer');
    return this.report();
  }
  async report(): Promise<KvReport> {
    this.reports++;
    const buckets = (this.received.at(-1)?.buckets ?? []).map(({ uuid, incarnation }) =>
      this.#reportOf(uuid, incarnation),
    );
    return aKvReport({ buckets });
  }
  get ops(): number {
    return this.#ops;
  }
  set ops(value: number) {
    this.#ops = value;
    this.#activity++;
  }
  activityCount(): number {
    return this.#activity;
  }
  async randomKey(): Promise<string | null> {
    return null;
  }
  async followMap(map: ShardMap): Promise<void> {
    this.maps.push(map);
  }
  async shardPositions(): Promise<[]> {
    return [];
  }
  async compact(uuid: string, request: CompactionRequest): Promise<void> {
    await this.hold;
    this.compactions.push([uuid, request]);
  }
  async cancelCompaction(uuid: string, origin?: string): Promise<void> {
    this.compactions.push([uuid, `cancel ${origin}`]);
  }
  #reportOf(uuid: string, wanted: number): BucketReport {
    const incarnation = this.failedFlushes-- > 0 ? 0 : wanted;
    return aBucketReport({ name: uuid, uuid, incarnation, ops: this.ops });
  }
}

async function anAgent() {
  const cluster = await memoryCluster();
  const kv = new FakeKv();
  const { agent, buckets } = anAgentOn(cluster, kv);
  agent.start();
  return { ...cluster, kv, agent, buckets };
}

function anAgentOn(cluster: Awaited<ReturnType<typeof memoryCluster>>, kv: FakeKv) {
  const unchanging = { onChange: () => ({ stop: () => {} }) };
  const agent = new Agent({
    ...cluster,
    identity: { nodeId: ownNodeId, bootId: 'b0071d' },
    kv,
    users: { ...unchanging, specs: () => [] },
    tls: { ...unchanging, current: () => null },
    clients: { ...unchanging, admitted: null },
    listening: { isPlainForThisMachineOnly: false },
    log: silentLog,
  });
  const buckets = bucketsServiceOn(cluster, { data: agent, wireNames: 'neutral' });
  return { agent, buckets };
}

const form = { name: 'b', ramQuotaMB: '100' };

describe('the agent', () => {
  it('sends the whole desired state to the data service', async () => {
    const { agent, buckets, kv, view } = await anAgent();
    const { uuid } = await buckets.create(form, true);
    const spec = kv.received.at(-1)?.buckets[0];
    assert.equal(spec?.uuid, uuid);
    assert.equal(spec?.quotaBytes, 100 * 1024 * 1024);
    assert.equal(spec?.clusterConfig.rev, view.bucketRevision(uuid));
    const config = JSON.parse(spec?.clusterConfig.json ?? '');
    assert.deepEqual([config.rev, config.name, config.bucketType], [spec?.clusterConfig.rev, 'b', 'membase']);
    assert.deepEqual(config.vBucketServerMap.serverList, ['$HOST:11210']);
    assert.equal(config.vBucketServerMap.vBucketMap.length, 1024);
    assert.equal(agent.measured(uuid)?.state, 'ready');
    await agent.stop();
  });

  it('frees the name of a deleted bucket once the data service has removed its files', async () => {
    const { agent, buckets, kv, view } = await anAgent();
    const { uuid } = await buckets.create(form, true);
    await buckets.remove('b');
    assert.deepEqual(kv.received.at(-1)?.buckets, []);
    assert.equal(view.buckets.byUuid[uuid], undefined);
    await buckets.create(form, true);
    await agent.stop();
  });

  it('finishes the deletion of a bucket that an earlier process began', async () => {
    const before = await anAgent();
    const { uuid } = await before.buckets.create(form, true);
    await before.agent.stop();
    await new BucketsStore(before.store).changeBucket(uuid, (bucket) => ({ ...bucket, state: 'deleting' }));
    const kv = new FakeKv();
    const { agent } = anAgentOn(before, kv);
    agent.start();
    assert.equal(await agent.applied(0, 1_000), true);
    assert.deepEqual(kv.received[0]?.deletedBuckets, [uuid]);
    assert.equal(before.view.buckets.byUuid[uuid], undefined);
    await agent.stop();
  });

  it('removes the files of a bucket that was deleted while this node was failed over and did not run', async () => {
    const before = await anAgent();
    const { uuid } = await before.buckets.create(form, true);
    const other = await before.buckets.create({ ...form, name: 'other' }, true);
    await before.agent.stop();
    await new BucketsStore(before.store).change(({ byUuid: { [uuid]: _, ...byUuid }, ...state }) => ({
      ...state,
      byUuid,
    }));
    const kv = new FakeKv();
    const { agent } = anAgentOn(before, kv);
    agent.start();
    assert.equal(await agent.caughtUp(1_000), true);
    assert.deepEqual(kv.received[0]?.deletedBuckets, [uuid]);
    assert.deepEqual(
      kv.received.at(-1)?.buckets.map((bucket) => bucket.uuid),
      [other.uuid],
    );
    assert.deepEqual((await before.store.get(`files/made/${ownNodeId}`))?.value, [other.uuid]);
    await agent.stop();
  });

  it('deletes the record of a deleted bucket last, so that a crash leaves nothing without a bucket', async () => {
    const { agent, buckets, store, view } = await anAgent();
    const { uuid } = await buckets.create(form, true);
    await store.put(manifestKey(uuid), initialManifest(), 0);
    const seen: unknown[] = [];
    const watch = await store.watch(bucketsKey, () => {
      if (view.buckets.byUuid[uuid] === undefined) seen.push(store.get(manifestKey(uuid)));
    });
    await buckets.remove('b');
    assert.deepEqual(await Promise.all(seen), [null]);
    watch.stop();
    await agent.stop();
  });

  it('deletes the checkpoints of replications from a deleted bucket, and from buckets that were deleted before', async () => {
    const { agent, buckets, store, view } = await anAgent();
    const { uuid } = await buckets.create(form, true);
    const other = await buckets.create({ ...form, name: 'other' }, true);
    const hasBucket = (id: string) => view.liveBuckets().some((bucket) => bucket.uuid === id);
    const checkpoints = new CheckpointsInConfig(store, hasBucket);
    const of = (sourceBucketUuid: string) => ({ shard: 0, sourceBucketUuid }) as ShardCheckpoint;
    await checkpoints.save('target/b/b', of(uuid));
    await checkpoints.save('target/other/b', of(other.uuid));
    await store.put('ckpt/target/x/0', of('deleted before'), 0);
    await buckets.remove('b');
    await checkpoints.save('target/b/b', of(uuid));
    const left = await store.list<ShardCheckpoint>('ckpt/');
    assert.deepEqual(
      left.map(({ value }) => value.sourceBucketUuid),
      [other.uuid],
    );
    await agent.stop();
  });

  it('starts a bucket once its map is known', async () => {
    const { agent, buckets, kv, store } = await anAgent();
    const { uuid } = await buckets.create(form, true);
    const map = await store.get(mapKey(uuid));
    await store.delete(mapKey(uuid), map?.revision ?? 0);
    await agent.caughtUp(1_000);
    assert.deepEqual([kv.received.at(-1)?.buckets, kv.received.at(-1)?.deletedBuckets], [[], []]);
    await store.put(mapKey(uuid), map?.value, 0);
    await agent.caughtUp(1_000);
    const shards = kv.received.at(-1)?.buckets[0]?.shards;
    assert.ok(shards?.length === 64 && shards.every(({ state }) => state === 'active'));
    await agent.stop();
  });

  it('combines changes made while the data service is busy into one call', { timeout: 120_000 }, async () => {
    const { agent, buckets, kv, view } = await anAgent();
    await nextTurn();
    const before = kv.received.length;
    const applying = Promise.withResolvers<void>();
    kv.hold = applying.promise;
    const creations = ['a', 'b', 'c', 'd'].map((name) => buckets.create({ ...form, name }, true));
    while (view.liveBuckets().length < 4) await nextTurn();
    applying.resolve();
    await Promise.all(creations);
    assert.equal(kv.received.length - before, 2);
    assert.equal(kv.received.at(-1)?.buckets.length, 4);
    await agent.stop();
  });

  it('retries after a failure of the data service', async () => {
    const { agent, buckets, kv, clock } = await anAgent();
    await nextTurn();
    kv.failures = 1;
    const creation = buckets.create(form, true);
    for (let turns = 0; turns < 10; turns++) await nextTurn();
    const before = kv.received.length;
    clock.advance(1_000);
    await creation;
    assert.equal(kv.received.length, before + 1);
    await agent.stop();
  });

  it('sends a map ahead of the desired state, once, and none while the node is alone', async () => {
    const { agent, buckets, kv, store } = await anAgent();
    const { uuid } = await buckets.create(form, true);
    assert.equal(kv.maps.length, 0);
    await update(store, clusterKey, aCluster(), (cluster) => ({
      ...cluster,
      nodes: [...cluster.nodes, nodeNamed('other')],
    }));
    const gate = Promise.withResolvers<void>();
    kv.hold = gate.promise;
    await update(store, mapKey(uuid), mapOnOneNode(ownNodeId), (map) => ({
      ...map,
      shards: map.shards.map((shard) => ({ ...shard, epoch: 2 })),
    }));
    const { revision = 0 } = (await store.get(mapKey(uuid))) ?? {};
    const sent = kv.maps.filter((map) => map.revision === revision);
    assert.deepEqual(
      sent.map(({ bucketUuid, shards }) => [bucketUuid, shards[0]?.epoch]),
      [[uuid, 2]],
    );
    gate.resolve();
    await agent.stop();
  });

  it('retries a failed flush, and reports the state as applied only afterwards', async () => {
    const { agent, buckets, kv, clock } = await anAgent();
    await buckets.create({ ...form, name: 'b', flushEnabled: '1' }, true);
    const before = kv.received.length;
    kv.failedFlushes = 1;
    let isFlushed = false;
    const flush = buckets.flush('b').then(() => (isFlushed = true));
    for (let turns = 0; turns < 10; turns++) await nextTurn();
    assert.deepEqual([kv.received.length - before, isFlushed], [1, false]);
    clock.advance(1_000);
    await flush;
    assert.equal(kv.received.length - before, 2);
    await agent.stop();
  });

  it('takes a new report after a compaction begins instead of sharing an earlier one', async () => {
    const { agent, kv } = await anAgent();
    await nextTurn();
    const held = deferred<void>();
    kv.hold = held.promise;
    const begun = agent.compact('b', { purgeBeforeSeconds: 0, origin: 'bucket' });
    await agent.refresh();
    const before = kv.reports;
    held.resolve();
    await begun;
    await agent.refresh();
    assert.equal(kv.reports, before + 1);
    await agent.stop();
  });

  it('samples less often while no client reads', async () => {
    const { agent, clock, kv } = await anAgent();
    const samplesIn = async (seconds: number) => {
      const before = kv.reports;
      for (let second = 0; second < seconds; second++) {
        clock.advance(1_000);
        await nextTurn();
      }
      return kv.reports - before;
    };
    await nextTurn();
    assert.equal(await samplesIn(20), 2);
    await agent.refresh();
    assert.equal(await samplesIn(30), 21);
    assert.equal(await samplesIn(60), 6);
    await agent.stop();
  });

  it('measures rates between samples', async () => {
    const { agent, buckets, kv, clock } = await anAgent();
    const { uuid } = await buckets.create(form, true);
    clock.advance(10_000);
    await nextTurn();
    kv.ops = 500;
    clock.advance(1_000);
    await nextTurn();
    assert.equal(agent.measured(uuid)?.rates.ops, 500);
    await agent.stop();
    assert.equal(clock.pending, 0);
  });

  it('computes rates up to now for a first reader, not up to the last sample', async () => {
    const { agent, buckets, kv, clock } = await anAgent();
    const { uuid } = await buckets.create(form, true);
    clock.advance(10_000);
    await nextTurn();
    kv.ops = 800;
    clock.advance(8_000);
    await agent.refresh();
    assert.equal(agent.measured(uuid)?.rates.ops, 100);
    kv.ops = 900;
    clock.advance(500);
    await agent.refresh();
    assert.equal(agent.measured(uuid)?.rates.ops, 100, 'half a second is too short for a new rate');
    await agent.stop();
  });
});
