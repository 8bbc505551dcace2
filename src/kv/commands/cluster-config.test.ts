// The configuration that clients request, that the node pushes to them, and that comes with NOT_MY_VBUCKET.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Privilege } from '#auth/privileges.ts';
import { Feature } from '#wire/features.ts';
import { Magic } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aBucket, aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const get = { opcode: Opcode.get, key: Buffer.from('\0k') };
/** Features of a client that the server may send requests to. */
const withPushes = [Feature.xerror, Feature.json, Feature.duplex];
const clustermapChange = 0x01;

test('a client gets the configuration of its bucket, and with the privilege that of the cluster', async () => {
  const clusterConfig = { revEpoch: 1, rev: 7, json: '{"rev":7}' };
  const reader = aUser('reader', 'password', { node: 0, buckets: { b: { privileges: Privilege.read } } });
  await using service = await startService(
    aDesired({ clusterConfig, users: [aUser('admin', 'password'), reader] }),
  );
  const client = await service.connect();
  await client.hello(usualFeatures);
  await client.plain('admin', 'password');
  const cluster = await client.ask({ opcode: Opcode.getClusterConfig });
  assert.deepEqual([cluster.value.toString(), cluster.datatype], ['{"rev":7}', 1]);
  const knownRevision = Buffer.alloc(16);
  knownRevision.writeBigInt64BE(1n, 0);
  knownRevision.writeBigInt64BE(7n, 8);
  assert.equal(
    (await client.ask({ opcode: Opcode.getClusterConfig, extras: knownRevision })).value.length,
    0,
  );
  knownRevision.writeBigInt64BE(6n, 8);
  assert.equal(
    (await client.ask({ opcode: Opcode.getClusterConfig, extras: knownRevision })).value.toString(),
    '{"rev":7}',
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.getClusterConfig, extras: Buffer.alloc(16) })).status,
    Status.invalidArguments,
  );
  await client.select('b');
  assert.match((await client.ask({ opcode: Opcode.getClusterConfig })).value.toString(), /"name":"b"/);
  await client.plain('reader', 'password');
  assert.equal((await client.ask({ opcode: Opcode.getClusterConfig })).status, Status.noAccess);
});

test('a new configuration is pushed to clients that negotiated that', async () => {
  await using service = await startService();
  const client = await service.ready({ features: [...withPushes, Feature.clustermapPush] });
  const bucket = aBucket('b', { clusterConfig: { revEpoch: 1, rev: 2, json: '{"rev":2}' } });
  await service.service.apply(aDesired({ buckets: [bucket] }));
  const pushed = await client.next();
  assert.deepEqual(
    [pushed?.magic, pushed?.opcode, pushed?.key.toString(), pushed?.value.toString()],
    [Magic.serverRequest, clustermapChange, 'b', '{"rev":2}'],
  );
  assert.equal(pushed?.extras.readBigInt64BE(8), 2n);
  assert.equal((await client.ask({ opcode: Opcode.noop })).status, Status.success);
});

test('clients without a bucket get the new configuration of the cluster, if they may read it', async () => {
  const users = [
    aUser('admin', 'password'),
    aUser('reader', 'password', { node: 0, buckets: { b: { privileges: Privilege.read } } }),
  ];
  const withRevision = (rev: number) =>
    aDesired({ users, clusterConfig: { revEpoch: 1, rev, json: `{"rev":${rev}}` } });
  await using service = await startService(withRevision(1));
  const [client, reader] = [await service.connect(), await service.connect()];
  for (const [name, one] of [
    ['admin', client],
    ['reader', reader],
  ] as const) {
    await one.hello([...withPushes, Feature.clustermapPushBrief]);
    await one.plain(name, 'password');
  }
  // Unchanged: the first push is of revision 2.
  await service.service.apply(withRevision(1));
  await service.service.apply(withRevision(2));
  const pushed = await client.next();
  assert.deepEqual(
    [pushed?.magic, pushed?.opcode, pushed?.key.length, pushed?.extras.readBigInt64BE(8)],
    [Magic.serverRequest, clustermapChange, 0, 2n],
  );
  assert.equal((await reader.ask({ opcode: Opcode.noop })).opcode, Opcode.noop);
});

test('only the revision is pushed to clients that negotiated the brief form', async () => {
  await using service = await startService();
  const client = await service.ready({ features: [...withPushes, Feature.clustermapPushBrief] });
  const silent = await service.ready({ features: withPushes });
  const bucket = aBucket('b', { clusterConfig: { revEpoch: 3, rev: 2, json: '{"rev":2}' } });
  await service.service.apply(aDesired({ buckets: [bucket] }));
  const pushed = await client.next();
  assert.deepEqual(
    [pushed?.magic, pushed?.opcode, pushed?.key.toString(), pushed?.value.length],
    [Magic.serverRequest, clustermapChange, 'b', 0],
  );
  assert.deepEqual([pushed?.extras.readBigInt64BE(0), pushed?.extras.readBigInt64BE(8)], [3n, 2n]);
  assert.equal((await silent.ask({ opcode: Opcode.noop })).opcode, Opcode.noop);
});

test('NOT_MY_VBUCKET has each configuration once if the client negotiated deduplication', async () => {
  await using service = await startService();
  const client = await service.ready({
    features: [Feature.xerror, Feature.json, Feature.collections, Feature.dedupeNotMyVbucket],
  });
  const bodyOfNotMyVbucket = async () => (await client.ask({ ...get, vb: 5000 })).value.toString();
  assert.match(await bodyOfNotMyVbucket(), /"rev":1/);
  assert.equal(await bodyOfNotMyVbucket(), '');
  const bucket = aBucket('b', { clusterConfig: { revEpoch: 1, rev: 2, json: '{"rev":2}' } });
  await service.service.apply(aDesired({ buckets: [bucket] }));
  assert.equal(await bodyOfNotMyVbucket(), '{"rev":2}');
  assert.equal(await bodyOfNotMyVbucket(), '');
  const withoutDeduplication = await service.ready();
  for (let i = 0; i < 2; i++)
    assert.match((await withoutDeduplication.ask({ ...get, vb: 5000 })).value.toString(), /"rev":2/);
});
