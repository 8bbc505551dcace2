// How many changes a pipeline holds while the target acknowledges slowly.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vbucketCount } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { addressOf, adminAccount, bucketClient } from '../../../test/support/wire-clients.ts';
import { ReplicationCounts } from '../replication-counts.ts';
import type { OutgoingVersion } from '../target/outgoing.ts';
import type { TargetLink } from '../target/target-link.ts';
import type { WantedReplication } from '../xdcr.contract.ts';
import { OutboundPipeline } from './pipeline.ts';
import { PriorityShares } from './priority-shares.ts';

const documents = 600;
const inFlightMax = 5;

test('a pipeline with several streams holds at most twice as many versions as the target may have in flight', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  const storing = (key: string) => ({
    kind: 'set' as const,
    key,
    value: Buffer.from('1'),
    cas: 0n,
    expiry: 0,
  });
  await client.storeMany(
    0,
    Array.from({ length: documents }, (_, at) => storing(`k${at}`)),
  );
  const settings = { sourceNozzlePerNode: 4, filterExpression: '', priority: 'High', desiredLatency: 50 };
  const mapping = { mode: 'implicit', rules: {} };
  const failures: string[] = [];
  const pipeline = new OutboundPipeline({
    wanted: { id: 'r', settings, mapping, source: { bucket: 'b' } } as unknown as WantedReplication,
    source: { address: addressOf(service.port), account: adminAccount },
    vbuckets: Array.from({ length: vbucketCount }, (_, vb) => vb),
    startOf: () => undefined,
    skipped: new Set(),
    skippedChanged: () => {},
    counts: new ReplicationCounts(),
    clock: realClock,
    shares: new PriorityShares(),
    failed: ({ message }) => failures.push(message),
  });
  const sent: OutgoingVersion[] = [];
  let most = 0;
  let acknowledged = 0;
  const link = {
    inFlightMax,
    manifest: () => client.manifest(),
    send: (version: OutgoingVersion) => {
      sent.push(version);
      most = Math.max(most, sent.length);
    },
  };
  await pipeline.start(link as unknown as TargetLink, []);
  await eventually(() => {
    for (const version of sent.splice(0)) {
      version.done();
      acknowledged++;
    }
    assert.equal(acknowledged, documents);
  });
  await pipeline.stop();
  client.close();
  assert.deepEqual(failures, []);
  // The version at which the reading stops is above the limit.
  assert.ok(most <= 2 * inFlightMax + 1, `${most} versions waited`);
});
