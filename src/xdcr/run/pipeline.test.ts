// A pipeline to a target that acknowledges when the test says so: how many versions it holds, and which collections it replicates from the start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangeFollower } from '#client/change-follower.ts';
import { vbucketCount } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { EndReason } from '#wire/dcp.ts';
import { startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { storing } from '../../../test/support/storing.ts';
import { addressOf, adminAccount, bucketClient } from '../../../test/support/wire-clients.ts';
import { CollectionRoutes, sourceIdOf } from '../mapping/routes.ts';
import { ReplicationCounts } from '../replication-counts.ts';
import type { OutgoingVersion } from '../target/outgoing.ts';
import type { TargetLink } from '../target/target-link.ts';
import type { WantedReplication } from '../xdcr.contract.ts';
import { Backfill } from './backfill.ts';
import type { SkippedRoutes } from './checkpoints.ts';
import { OutboundPipeline } from './pipeline.ts';
import { PriorityShares } from './priority-shares.ts';

const inFlightMax = 5;
/** The most versions without an acknowledgement: twice those in flight, and the one after which the pipeline pauses the source. */
const waitingMax = 2 * inFlightMax + 1;
/** Id of a collection. */
const orders = 8;
const mapping = { mode: 'implicit', rules: {} } as const;

/** A pipeline to a target that acknowledges only what a test says, and collections with documents at the source. */
async function aPipeline(
  port: number,
  {
    collections,
    documents,
    newestTargetCollection = null,
  }: { collections: readonly number[]; documents: number; newestTargetCollection?: number | null },
) {
  const client = await bucketClient(port);
  for (const collection of collections)
    await client.storeMany(
      collection,
      Array.from({ length: documents }, (_, at) => storing(`k${at}`)),
    );
  const settings = { sourceNozzlePerNode: 4, filterExpression: '', priority: 'High', desiredLatency: 50 };
  const failures: string[] = [];
  const resumed: SkippedRoutes = { skipped: new Set<string>(), newestTargetCollection };
  const { skipped } = resumed;
  const pipeline = new OutboundPipeline({
    wanted: { id: 'r', settings, mapping, source: { bucket: 'b' } } as unknown as WantedReplication,
    source: { address: addressOf(port), account: adminAccount },
    vbuckets: Array.from({ length: vbucketCount }, (_, vb) => vb),
    startOf: () => undefined,
    resumed,
    skippedChanged: () => {},
    backfilled: async () => {},
    counts: new ReplicationCounts(),
    clock: realClock,
    shares: new PriorityShares(),
    failed: ({ message }) => failures.push(message),
  });
  const sent: OutgoingVersion[] = [];
  const target = { manifest: await client.manifest() };
  const counted = { most: 0, acknowledged: 0 };
  const link = {
    inFlightMax,
    manifest: async () => target.manifest,
    send: (version: OutgoingVersion) => {
      sent.push(version);
      counted.most = Math.max(counted.most, sent.length);
    },
  };
  const acknowledge = (wanted: number) =>
    eventually(() => {
      for (const version of sent.splice(0)) {
        version.done();
        counted.acknowledged++;
      }
      assert.equal(counted.acknowledged, wanted);
    });
  await pipeline.start(link as unknown as TargetLink, []);
  const end = async () => {
    await pipeline.stop();
    client.close();
    assert.deepEqual(failures, []);
  };
  return { pipeline, client, target, sent, counted, resumed, skipped, acknowledge, end };
}

test('a pipeline with several streams holds at most twice as many versions as the target may have in flight', async () => {
  await using service = await startService();
  const documents = 600;
  const { counted, acknowledge, end } = await aPipeline(service.port, { collections: [0], documents });
  await acknowledge(documents);
  await end();
  assert.ok(counted.most <= waitingMax, `${counted.most} versions waited`);
});

test('a backfill that begins while the other streams wait for acknowledgements waits too', async () => {
  await using service = await startService();
  const documents = 60;
  const held = await aPipeline(service.port, { collections: [0, orders], documents });
  const { pipeline, client, sent, counted, skipped, acknowledge, end } = held;
  await eventually(() => assert.equal(sent.length, waitingMax));
  const routes = new CollectionRoutes(mapping);
  const manifest = await client.manifest();
  routes.setSource(manifest);
  routes.setTarget(manifest);
  for (const { id } of routes.routesOf(orders) ?? []) skipped.add(id);
  await pipeline.followManifests();
  // The source has sent all that the backfill would read.
  await eventually(async () => {
    const figures = await client.stats('dcp');
    assert.ok(Number(figures.get('eq_dcpq:xdcr:r:backfill:items_sent')) >= documents);
  });
  // The round trip gives the pipeline time to receive those changes.
  await client.manifest();
  assert.equal(sent.length, waitingMax);
  await acknowledge(3 * documents);
  await end();
  assert.ok(counted.most <= waitingMax, `${counted.most} versions waited`);
});

test('collections that were left out are replicated from the start together', async () => {
  await using service = await startService();
  const documents = 3;
  const carts = orders + 1;
  const { pipeline, client, sent, skipped, acknowledge, end } = await aPipeline(service.port, {
    collections: [orders, carts],
    documents,
  });
  await acknowledge(2 * documents);
  const routes = new CollectionRoutes(mapping);
  const manifest = await client.manifest();
  routes.setSource(manifest);
  routes.setTarget(manifest);
  for (const id of [orders, carts]) for (const route of routes.routesOf(id) ?? []) skipped.add(route.id);
  await pipeline.followManifests();
  // No version is acknowledged: if each collection had its own backfill, the first one would not end, and the second one not begin.
  await eventually(() => assert.equal(sent.length, 2 * documents));
  assert.deepEqual([...new Set(sent.map(({ collectionId }) => collectionId))].sort(), [orders, carts]);
  await acknowledge(4 * documents);
  await eventually(() => assert.equal(skipped.size, 0));
  await end();
});

test('a backfill of several collections is incomplete when the source refuses its streams for one of them', async () => {
  let finished = 0;
  const backfill = new Backfill({
    routeIds: new Set(['8 a', '9 b']),
    vbuckets: [0, 1],
    follow: () => ({ stop: async () => {} }) as unknown as ChangeFollower,
    replicate: () => {},
    failed: () => {},
    finished: () => finished++,
  });
  backfill.ended(0, EndReason.finished);
  assert.deepEqual([finished, backfill.incomplete.size], [0, 0]);
  backfill.ended(1, EndReason.filterEmpty);
  assert.deepEqual([finished, [...backfill.incomplete]], [1, ['8 a', '9 b']]);
});

/** The manifest of a target that has dropped the collection and created it again. */
function withCreatedAgain(manifest: string, id: number): string {
  const parsed = JSON.parse(manifest) as { scopes: { collections: { uid: string }[] }[] };
  const collections = parsed.scopes.flatMap((scope) => scope.collections);
  const created = collections.find(({ uid }) => uid === id.toString(16));
  assert.ok(created);
  created.uid = createdAgain.toString(16);
  return JSON.stringify(parsed);
}

/** Above all ids of the target. */
const createdAgain = 0x20;
const orderKeys = (documents: number) => Array.from({ length: documents }, (_, at) => `k${at}`).sort();

test('documents of a collection that the target drops and creates again are sent again, and those of others are not', async () => {
  await using service = await startService();
  const documents = 20;
  const { pipeline, target, sent, skipped, acknowledge, end } = await aPipeline(service.port, {
    collections: [0, orders],
    documents,
  });
  await acknowledge(2 * documents);
  target.manifest = withCreatedAgain(target.manifest, orders);
  await pipeline.followManifests();
  const again: OutgoingVersion[] = [];
  await eventually(() => {
    for (const version of sent.splice(0)) {
      again.push(version);
      version.done();
    }
    assert.equal(again.length, documents);
  });
  assert.deepEqual(again.map(({ key }) => key.toString()).sort(), orderKeys(documents));
  assert.deepEqual([...new Set(again.map(({ targetKey }) => targetKey[0]))], [createdAgain]);
  await eventually(() => assert.equal(skipped.size, 0));
  await pipeline.followManifests();
  assert.equal(skipped.size, 0);
  await end();
});

test('a collection that the target created while nothing was replicated is replicated from the start', async () => {
  await using service = await startService();
  const { resumed, skipped, end } = await aPipeline(service.port, {
    collections: [],
    documents: 0,
    newestTargetCollection: orders,
  });
  // The other collections of the service have higher ids, and only those outside of the system scope have routes.
  assert.deepEqual([...skipped].map(sourceIdOf), [orders + 1]);
  assert.equal(resumed.newestTargetCollection, orders + 2);
  await end();
});
