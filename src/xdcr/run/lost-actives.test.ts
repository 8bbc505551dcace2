// What checkpoints say about the target: after a backfill, and of vbuckets that have no active there for a while, as after a failover without a
// copy.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vbucketCount, vbucketOf } from '#client/document-key.ts';
import { silentLog } from '#ports/log.ts';
import { startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { storing } from '../../../test/support/storing.ts';
import { addressOf, adminAccount, bucketClient } from '../../../test/support/wire-clients.ts';
import { implicitMapping } from '../mapping/mapping.contract.ts';
import { CollectionRoutes } from '../mapping/routes.ts';
import type { ShardCheckpoint, WantedReplication } from '../xdcr.contract.ts';
import { PriorityShares } from './priority-shares.ts';
import { RunningReplication } from './replication.ts';

const wanted = {
  id: 'c/b/b',
  source: { bucket: 'b', uuid: 'u' },
  target: { bucket: 'b', access: { hosts: [], ...adminAccount, encryptsData: false } },
  conflictResolution: 'seqno',
  settings: {
    logLevel: 'Info',
    checkpointInterval: 600,
    workerBatchSize: 500,
    docBatchSizeKb: 2048,
    failureRestartInterval: 1,
    optimisticReplicationThreshold: 256,
    sourceNozzlePerNode: 1,
    targetNozzlePerNode: 1,
    networkUsageLimit: 0,
    desiredLatency: 50,
    priority: 'High',
    compressionType: 'None',
    filterExpression: '',
  },
  isPaused: false,
  filterEpochs: [''],
  mapping: implicitMapping,
  formerMappings: [],
} as unknown as WantedReplication;

const key = 'a';
const vb = vbucketOf(key);
const recordMs = 10_000;

/** A replication of one vbucket, which stores its checkpoints in `stored`. */
function aReplication(source: { port: number }, target: { port: number }, stored: ShardCheckpoint[]) {
  const clock = new ManualClock();
  const state = { hasActive: true, mapReads: 0 };
  const replication = new RunningReplication(wanted, {
    source: { address: addressOf(source.port), account: adminAccount },
    readMap: async () => {
      state.mapReads++;
      const actives = Array.from({ length: vbucketCount }, (_, at) =>
        at === vb && !state.hasActive ? -1 : 0,
      );
      return { bucketUuid: 'b', hosts: [], nodes: [{ host: '127.0.0.1', port: target.port }], actives };
    },
    checkpoints: { load: async () => stored, save: async (_id, shard) => void stored.push(shard) },
    clock,
    log: silentLog,
    vbuckets: () => [vb],
    sendingNodes: () => 1,
    shares: new PriorityShares(),
  });
  return { replication, state, clock };
}

/** Stores the document `key` at the source, and replicates it until there is a checkpoint of it. */
async function replicated(
  source: { port: number },
  { replication }: ReturnType<typeof aReplication>,
  stored: readonly ShardCheckpoint[],
): Promise<void> {
  const client = await bucketClient(source.port);
  await client.storeMany(0, [storing(key)]);
  client.close();
  replication.start();
  await eventually(async () => assert.equal((await replication.report()).figures['docs_written'], 1));
  // Stops with a checkpoint.
  await replication.stop();
  assert.deepEqual(
    stored.map(({ vbuckets }) => vbuckets.map((each) => each.vb)),
    [[vb]],
  );
}

/** A replication whose document `key` is at the target, and a checkpoint of it. The vbucket then loses its active. */
async function interrupted(source: { port: number }, target: { port: number }) {
  const stored: ShardCheckpoint[] = [];
  const created = aReplication(source, target, stored);
  await replicated(source, created, stored);
  const { replication, state, clock } = created;
  const figures = async () => (await replication.report()).figures;
  const isConnected = async () => (await replication.report()).isConnected;
  state.hasActive = false;
  replication.start();
  await eventually(async () => assert.equal(await isConnected(), true));
  return { replication, state, clock, figures };
}

test('vbuckets without an active keep their checkpoint: nothing is replicated again once they have an active with the same documents', async () => {
  await using source = await startService();
  await using target = await startService();
  const { replication, state, clock, figures } = await interrupted(source, target);
  state.hasActive = true;
  await eventually(() => {
    clock.advance(recordMs);
    assert.ok(state.mapReads > 3, 'the map is not read again');
  });
  await replication.stop();
  assert.deepEqual([(await figures())['docs_received_from_dcp'], (await figures())['docs_written']], [1, 1]);
  await replication.end();
});

test('vbuckets without an active are replicated again from the start if the later active lacks what the checkpoint says', async () => {
  await using source = await startService();
  await using target = await startService();
  await using replacement = await startService();
  const targetPort = { port: target.port };
  const { replication, state, clock, figures } = await interrupted(source, targetPort);
  targetPort.port = replacement.port;
  state.hasActive = true;
  await eventually(async () => {
    clock.advance(recordMs);
    assert.equal((await figures())['docs_written'], 2);
  });
  await replication.end();
});

test('after a backfill a checkpoint says what the target has, although the source has not changed', async () => {
  await using source = await startService();
  await using target = await startService();
  const stored: ShardCheckpoint[] = [];
  const first = aReplication(source, target, stored);
  await replicated(source, first, stored);
  await first.replication.end();
  const [checkpoint] = stored as [ShardCheckpoint];
  const client = await bucketClient(source.port);
  const manifest = await client.manifest();
  client.close();
  const routes = new CollectionRoutes(implicitMapping);
  routes.setSource(manifest);
  routes.setTarget(manifest);
  const skipped = (routes.routesOf(0) ?? []).map(({ id }) => id);
  // As if the target had lacked the collection when the position was recorded.
  const vbuckets = checkpoint.vbuckets.map((each) => ({ ...each, targetSeqno: 0 }));
  stored.splice(0, stored.length, { ...checkpoint, skipped, vbuckets });
  const { replication, clock } = aReplication(source, target, stored);
  replication.start();
  await eventually(() => {
    clock.advance(wanted.settings.checkpointInterval * 1_000);
    assert.deepEqual(stored.at(-1)?.skipped, []);
  });
  assert.deepEqual(stored.at(-1)?.vbuckets, checkpoint.vbuckets);
  await replication.end();
});
