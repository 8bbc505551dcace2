import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype, Status } from '#wire/status.ts';
import { type DataNode, DataNodes } from '../../../test/support/data-nodes.ts';
import { startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { adminAccount } from '../../../test/support/wire-clients.ts';
import { ReplicationCounts } from '../replication-counts.ts';
import type { DataPathSettings, TargetAccess } from '../xdcr.contract.ts';
import { type OutgoingVersion, setTargetCollection } from './outgoing.ts';
import { TargetLink } from './target-link.ts';
import type { TargetMap } from './target-map.ts';

test('the link ends when no node answers with a newer map, but only if a version waits for that', async () => {
  const failures: string[] = [];
  const maps: Promise<TargetMap>[] = [
    Promise.resolve({ bucketUuid: 'b', hosts: [], nodes: [], actives: [-1] }),
  ];
  const link = await TargetLink.open({
    access: {} as TargetAccess,
    settings: { networkUsageLimit: 0, targetNozzlePerNode: 1 } as DataPathSettings,
    clock: new ManualClock(),
    senders: 1,
    readMap: () => maps.pop() ?? Promise.reject(new Error('no node answers')),
    counts: new ReplicationCounts(),
    failed: ({ message }: Error) => failures.push(message),
  } as unknown as Parameters<typeof TargetLink.open>[0]);
  assert.equal((await link.positions([0])).size, 0);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(failures, []);
  link.send({ vb: 0, attempts: 0 } as OutgoingVersion);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(failures, ['no node answers']);
  link.close();
});

const access: TargetAccess = {
  clusterUuid: 'c',
  hosts: [],
  ...adminAccount,
  encryptsData: false,
  usesAlternateAddresses: false,
};

/** A link to the bucket of a data service, on a clock that no retry passes. */
async function aLink(port: number, clock: ManualClock) {
  const seen = { failures: [] as string[], leftOut: [] as string[], done: [] as string[] };
  const counts = new ReplicationCounts();
  const link = await TargetLink.open({
    access,
    bucket: 'b',
    rule: 'seqno',
    settings: {
      networkUsageLimit: 0,
      targetNozzlePerNode: 1,
      workerBatchSize: 10,
      docBatchSizeKb: 2048,
      optimisticReplicationThreshold: 256,
    } as DataPathSettings,
    clock,
    counts,
    senders: 1,
    share: () => 1,
    readMap: async () => ({
      bucketUuid: 'b',
      hosts: [],
      nodes: [{ host: '127.0.0.1', port }],
      actives: [0],
    }),
    collectionLost: () => {},
    heldUp: () => {},
    leftOut: ({ key }, status) => seen.leftOut.push(`${key} ${status}`),
    failed: ({ message }) => seen.failures.push(message),
  });
  const send = (key: string, changes: Partial<OutgoingVersion>) => {
    const outgoing: OutgoingVersion = {
      kind: 'mutation',
      vb: 0,
      seqno: 1,
      collectionId: 0,
      datatype: Datatype.raw,
      flags: 0,
      expiry: 0,
      rev: 1,
      casHi: 1,
      casLo: 1,
      routeId: '0',
      targetKey: Buffer.alloc(0),
      attempts: 0,
      key: Buffer.from(key),
      value: Buffer.from('1'),
      done: () => seen.done.push(key),
      ...changes,
    };
    setTargetCollection(outgoing, 0);
    link.send(outgoing);
  };
  return { link, seen, counts, send };
}

/** Not below the limit of revisions: the target refuses it as an invalid argument. */
const tooHighRev = 2 ** 48;

test('a version that the target refuses for what it is is left out and counted, and the others are sent', async () => {
  await using service = await startService();
  const { link, seen, counts, send } = await aLink(service.port, new ManualClock());
  send('cas', { casHi: 0xffffffff });
  send('large', { value: Buffer.alloc((20 << 20) + 1) });
  send('good', {});
  await eventually(() => assert.equal(seen.done.length, 3));
  send('rev', { rev: tooHighRev });
  await eventually(() => assert.equal(seen.done.length, 4));
  link.close();
  assert.deepEqual(seen.failures, []);
  assert.deepEqual(seen.leftOut.sort(), [
    `cas ${Status.casValueInvalid}`,
    `large ${Status.tooBig}`,
    `rev ${Status.invalidArguments}`,
  ]);
  assert.deepEqual([counts.get('docs_refused'), counts.get('docs_written')], [3, 1]);
});

test('a target that takes no version and refuses all as invalid ends the link: none of them is left out', async () => {
  await using service = await startService();
  const clock = new ManualClock();
  const { link, seen, send } = await aLink(service.port, clock);
  send('rev', { rev: tooHighRev });
  for (let round = 0; round < 100 && seen.failures.length === 0; round++) {
    // The connection answers in order: the refusal has arrived.
    await link.manifest();
    clock.advance(1_000);
  }
  link.close();
  assert.deepEqual(seen.failures, ['the target refused a document with status invalidArguments']);
  assert.deepEqual([seen.leftOut, seen.done], [[], []]);
});

/** The vbuckets, of some, whose positions a link knows. In its map the even ones are at the first node, the odd ones and `atSecond` at the second. */
async function positioned({ nodes }: DataNodes, some: readonly number[], atSecond: readonly number[] = []) {
  const map = {
    bucketUuid: 'b',
    hosts: [],
    nodes: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    actives: Array.from({ length: 64 }, (_, vb) => (atSecond.includes(vb) ? 1 : vb % 2)),
  };
  const link = await TargetLink.open({
    access,
    bucket: 'b',
    settings: { networkUsageLimit: 0, targetNozzlePerNode: 1 } as DataPathSettings,
    clock: new ManualClock(),
    counts: new ReplicationCounts(),
    senders: 1,
    share: () => 1,
    readMap: async () => map,
    failed: () => {},
  } as unknown as Parameters<typeof TargetLink.open>[0]);
  try {
    return [...(await link.positions(some)).keys()].sort();
  } finally {
    link.close();
  }
}

test('a vbucket that the target has moved to another node than its map says has no position; other vbuckets have one', async () => {
  await using nodes = await DataNodes.start();
  assert.deepEqual(await positioned(nodes, [0, 1, 3]), [0, 1, 3]);
  await nodes.move(1, 'a');
  await eventually(async () => assert.deepEqual(await positioned(nodes, [0, 1, 3]), [0, 3]));
});

test('a vbucket of which the node has only a copy has no position: its documents are not taken for lost', async () => {
  await using nodes = await DataNodes.start();
  const second = nodes.nodes[1] as DataNode;
  await nodes.nameTooEarly(0, second.id);
  await eventually(async () => {
    const { vbuckets } = (await second.service.report()).buckets[0] ?? {};
    assert.ok((vbuckets?.pending.vbuckets ?? 0) > 0);
  });
  assert.deepEqual(await positioned(nodes, [0, 3], [0]), [3]);
});
