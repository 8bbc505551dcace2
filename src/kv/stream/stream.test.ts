import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { EndReason, Message, OpenFlag, StreamFlag } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import {
  aBucket,
  aDesired,
  aUser,
  persistToMajority,
  startService,
} from '../../../test/support/data-service.ts';
import { DcpClient, liveDocuments } from '../../../test/support/dcp-client.ts';
import type { KvConnection, Reply } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { type BucketSpec, type KvDesired, Privilege } from '../admin.ts';
import { defaultManifest } from '../bucket/manifest.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const {
  invalidArguments,
  keyExists,
  keyNotFound,
  manifestAhead,
  noAccess,
  rollback,
  streamIdInvalid,
  unknownCollection,
  unknownScope,
} = Status;

interface Extra {
  vb?: number;
  collection?: number;
  datatype?: number;
  framing?: Buffer;
}

const keyOf = (key: string, collection = 0): Buffer =>
  Buffer.concat([Buffer.from([collection]), Buffer.from(key)]);

async function set(kv: KvConnection, key: string, value: string | Buffer, extra: Extra = {}): Promise<Reply> {
  const { collection = 0, ...rest } = extra;
  const body = { key: keyOf(key, collection), value: Buffer.from(value), extras: Buffer.alloc(8) };
  const reply = await kv.ask({ opcode: Opcode.set, ...body, ...rest });
  assert.equal(reply.status, 0);
  return reply;
}

const remove = (kv: KvConnection, key: string): Promise<Reply> =>
  kv.ask({ opcode: Opcode.delete, key: keyOf(key) });
/** Buckets whose seqnos all belong to documents, and one with collections. */
const plain = (changes: Partial<BucketSpec> = {}): KvDesired =>
  aDesired({ buckets: [aBucket('b', { manifest: defaultManifest, ...changes })] });
const ephemeral = plain({ type: 'ephemeral' });
const withCollections = aDesired({ buckets: [aBucket('b', { type: 'ephemeral' })] });

for (const type of ['native', 'ephemeral'] as const) {
  test(`${type}: a stream has the existing documents, then new changes`, async () => {
    await using service = await startService(plain({ type }));
    const kv = await service.ready();
    for (const [key, value] of ['a1', 'b2', 'a3']) await set(kv, key as string, value as string);
    const client = await new DcpClient(await service.ready()).open();
    assert.equal((await client.stream(0)).status, 0);
    await client.reach([[0, 3]]);
    assert.deepEqual(liveDocuments(client.copyOf(0)), new Map(Object.entries({ '\0b': '2', '\0a': '3' })));
    await set(kv, 'c', '4');
    await client.reach([[0, 4]]);
    assert.equal((await remove(kv, 'b')).status, 0);
    await client.reach([[0, 5]]);
    assert.deepEqual(liveDocuments(client.copyOf(0)), new Map(Object.entries({ '\0a': '3', '\0c': '4' })));
  });

  test(`${type}: a stream ends at the requested seqno, or on request at the newest one`, async () => {
    await using service = await startService(plain({ type }));
    const kv = await service.ready();
    for (const key of ['a', 'b', 'c']) await set(kv, key, 'x');
    const client = await new DcpClient(await service.ready()).open();
    await client.stream(0, { end: 2 });
    await client.until(() => client.copyOf(0).endReason === EndReason.finished);
    assert.deepEqual(
      client.changes.map(({ seqno }) => seqno),
      [1, 2],
    );
    await client.stream(0, { start: 2, flags: StreamFlag.toLatest });
    await client.until(() => client.copyOf(0).endReason === EndReason.finished);
    assert.deepEqual(
      client.changes.map(({ seqno }) => seqno),
      [1, 2, 3],
    );
  });
}

test('a stream from the latest change has only later ones, also for a client that has no history', async () => {
  await using service = await startService(ephemeral);
  const kv = await service.ready();
  for (const key of ['a', 'b', 'c']) await set(kv, key, 'x');
  const client = await new DcpClient(await service.ready()).open();
  const reply = await client.stream(0, { uuid: 0n, start: 3, flags: StreamFlag.fromLatest });
  assert.equal(reply.status, 0);
  await set(kv, 'd', 'x');
  await client.until(() => client.changes.length > 0);
  assert.deepEqual(
    client.changes.map(({ seqno }) => seqno),
    [4],
  );
});

test('a stream of persisted changes ends at the last of them', async () => {
  await using service = await startService(plain());
  const kv = await service.ready();
  await set(kv, 'a', 'x', { framing: persistToMajority });
  const client = await new DcpClient(await service.ready()).open();
  await client.stream(0, { flags: StreamFlag.diskOnly });
  await client.until(() => client.copyOf(0).endReason === EndReason.finished);
  assert.equal(client.copyOf(0).position, 1);
});

test('a client gets no more than the buffer that it announced, until it acknowledges', async () => {
  await using service = await startService(ephemeral);
  const kv = await service.ready();
  for (let i = 0; i < 10; i++) await set(kv, `k${i}`, 'v'.repeat(1000));
  const client = await new DcpClient(await service.ready()).open('flow', 1, {
    connection_buffer_size: '2500',
  });
  await client.stream(0);
  await client.until(() => client.changes.length === 3);
  // A request and its reply prove that no message was still in transit.
  await client.control('enable_noop', 'false');
  assert.equal(client.changes.length, 3);
  await set(kv, 'k9', 'new');
  client.ackBytes = 1000;
  client.acknowledge();
  await client.reach([[0, 11]]);
  assert.equal(client.copyOf(0).documents.get('\0k9')?.value.toString(), 'new');
});

test('a silent client gets no-ops, and its connection is closed after two unanswered ones', async () => {
  await using service = await startService(ephemeral);
  const noop = { enable_noop: 'true', set_noop_interval: '1' };
  const alive = await new DcpClient(await service.ready()).open('alive', 1, noop);
  const dead = await new DcpClient(await service.ready()).open('dead', 1, noop);
  dead.answersNoops = false;
  await Promise.all([
    assert.rejects(
      dead.until(() => false),
      /the connection was closed/,
    ),
    alive.until(() => alive.opcodes.length >= 3),
  ]);
  assert.deepEqual(dead.opcodes, [Message.noop, Message.noop]);
  assert.equal((await alive.ask({ opcode: Opcode.dcpNoop })).status, 0);
});

test('the older of two connections of one name is closed', async () => {
  await using service = await startService(ephemeral);
  const older = await new DcpClient(await service.ready()).open('same');
  await new DcpClient(await service.ready()).open('other');
  await older.control('enable_noop', 'false');
  await new DcpClient(await service.ready()).open('same');
  await older.connection.closed;
});

test('expirations differ from deletions on request', async () => {
  await using service = await startService(ephemeral);
  const kv = await service.ready();
  await set(kv, 'd', 'x');
  await remove(kv, 'd');
  const past = Buffer.alloc(8);
  past.writeUInt32BE(1_000_000_000, 4);
  await kv.ask({ opcode: Opcode.set, key: keyOf('e'), value: Buffer.from('x'), extras: past });
  assert.equal((await kv.ask({ opcode: Opcode.get, key: keyOf('e') })).status, keyNotFound);
  const seen = async (name: string, flags: number, controls: Record<string, string>): Promise<unknown[]> => {
    const client = await new DcpClient(await service.ready()).open(name, flags, controls);
    await client.stream(0);
    await client.until(() => client.changes.length === 2);
    return client.changes.map(({ kind, extras }) => [kind, extras.length]);
  };
  assert.deepEqual(await seen('1', OpenFlag.producer, {}), [
    ['deletion', 18],
    ['deletion', 18],
  ]);
  assert.deepEqual(await seen('2', OpenFlag.producer | OpenFlag.includeDeleteTimes, {}), [
    ['deletion', 21],
    ['deletion', 21],
  ]);
  assert.deepEqual(
    await seen('3', OpenFlag.producer | OpenFlag.includeDeleteTimes, { enable_expiry_opcode: 'true' }),
    [
      ['deletion', 21],
      ['expiration', 20],
    ],
  );
});

test('markers are of the version that the client understands', async () => {
  await using service = await startService(ephemeral);
  await set(await service.ready(), 'a', 'x');
  const sizes: number[][] = [];
  for (const controls of [{}, { enable_sync_writes: 'true' }, { max_marker_version: '2.2' }]) {
    const client = await new DcpClient(await service.ready()).open('versions', 1, controls);
    await client.stream(0);
    await client.reach([[0, 1]]);
    const [marker] = client.markers;
    sizes.push([marker?.extras.length ?? -1, marker?.value.length ?? -1]);
  }
  assert.deepEqual(sizes, [
    [20, 0],
    [1, 36],
    [1, 52],
  ]);
});

test('a filtered stream has the changes of its collections, and only the new seqno when other collections change', async () => {
  await using service = await startService(withCollections);
  const kv = await service.ready();
  await set(kv, 'a', 'x', { collection: 8 });
  await set(kv, 'b', 'x', { collection: 9 });
  await set(kv, 'c', 'x');
  const client = await new DcpClient(await service.ready()).open('filters', 1, { enable_stream_id: 'true' });
  assert.equal((await client.stream(0, { value: { collections: ['8'] } })).status, streamIdInvalid);
  assert.equal((await client.stream(0, { value: { collections: ['8'], sid: 1 } })).status, 0);
  await client.reach([[0, 8]]);
  assert.deepEqual([...client.copyOf(0).documents.keys()], ['\x08a']);
  assert.equal(client.opcodes.at(-1), Message.seqnoAdvanced);
  assert.equal((await client.stream(0, { start: 0, value: { scope: '8', sid: 1 } })).status, keyExists);
  assert.equal((await client.stream(1, { value: { scope: '8', sid: 2 } })).status, 0);
  assert.equal((await client.stream(0, { start: 0, value: { scope: '77', sid: 3 } })).status, unknownScope);
  assert.equal(
    (await client.stream(0, { start: 0, value: { collections: ['77'], sid: 3 } })).status,
    unknownCollection,
  );
  assert.equal((await client.stream(0, { start: 0, value: { uid: 'ff', sid: 3 } })).status, manifestAhead);
  const framing = Buffer.from([0x22, 0, 1]);
  assert.equal((await client.ask({ opcode: Opcode.dcpCloseStream, vb: 0, framing })).status, 0);
  assert.equal((await client.ask({ opcode: Opcode.dcpCloseStream, vb: 0, framing })).status, keyNotFound);
});

test('a client without collections gets the default collection, without ids', async () => {
  await using service = await startService(withCollections);
  const kv = await service.ready();
  await set(kv, 'a', 'x', { collection: 8 });
  await set(kv, 'b', 'x');
  const client = await new DcpClient(
    await service.ready({ features: [Feature.xattr, Feature.xerror] }),
  ).open();
  assert.equal((await client.stream(0, { value: { scope: '8' } })).status, invalidArguments);
  await client.stream(0);
  await client.until(() => client.changes.length === 1);
  assert.equal(client.changes[0]?.key, 'b');
});

test('users stream only collections for which they have the privilege', async () => {
  const bucketGrant = {
    scopes: { '8': { privileges: 0, collections: { '8': Privilege.dcpStream | Privilege.read } } },
  };
  const users = [
    aUser('admin', 'password'),
    aUser('reader', 'password', { node: 0, buckets: { b: { privileges: Privilege.read } } }),
    aUser('partly', 'password', {
      node: 0,
      buckets: { b: { privileges: Privilege.dcpProducer, ...bucketGrant } },
    }),
  ];
  const desired = { ...withCollections, users };
  await using service = await startService(desired);
  const reader = new DcpClient(await service.ready({ user: 'reader' }));
  await assert.rejects(reader.open(), /open/);
  const partly = await new DcpClient(await service.ready({ user: 'partly' })).open();
  assert.equal((await partly.stream(0)).status, noAccess);
  assert.equal((await partly.stream(0, { value: { collections: ['9'] } })).status, unknownCollection);
  assert.equal((await partly.stream(0, { value: { collections: ['8'] } })).status, 0);
  const fewerGrants = [
    users[0] as (typeof users)[0],
    aUser('partly', 'password', {
      node: 0,
      buckets: {
        b: { privileges: 0, scopes: { '8': { privileges: 0, collections: { '8': Privilege.read } } } },
      },
    }),
  ];
  await service.service.apply({ ...desired, users: fewerGrants });
  await set(await service.ready(), 'a', 'x', { collection: 8 });
  await partly.until(() => partly.copyOf(0).endReason === EndReason.lostPrivileges);
});

test('the streams of a flushed bucket end, and their clients start from zero', async () => {
  const desired = plain();
  await using service = await startService(desired);
  const kv = await service.ready();
  await set(kv, 'a', 'x');
  const client = await new DcpClient(await service.ready()).open();
  await client.stream(0);
  await client.reach([[0, 1]]);
  await service.service.apply({
    ...desired,
    buckets: [aBucket('b', { manifest: defaultManifest, incarnation: 2 })],
  });
  await client.until(() => client.copyOf(0).endReason === EndReason.stateChanged);
  const reply = await client.stream(0);
  assert.equal(reply.status, rollback);
  assert.equal(reply.value.readBigUInt64BE(0), 0n);
});

test('after a crash only clients ahead of the disk roll back to the persisted seqno', async () => {
  const gate = deferred<void>();
  let synced: Promise<void> = Promise.resolve();
  const disk = new MemoryDisk({ sync: () => synced });
  const before = await startService(plain(), { disk: disk.engine() });
  const kv = await before.ready();
  await set(kv, 'a', 'x', { framing: persistToMajority });
  const persisted = await new DcpClient(await before.ready()).open('persisted');
  const ahead = await new DcpClient(await before.ready()).open('ahead');
  for (const client of [persisted, ahead]) {
    await client.stream(0);
    await client.reach([[0, 1]]);
  }
  persisted.connection.close();
  synced = gate.promise;
  await set(kv, 'b', 'x');
  await set(kv, 'c', 'x');
  await ahead.reach([[0, 3]]);
  disk.crash();
  synced = Promise.resolve();
  gate.resolve();
  for (const connection of [kv, ahead.connection]) connection.close();
  // A service whose disk has crashed reports errors when it stops.
  await before.service.stop().catch(() => {});

  await using after = await startService(plain(), { disk: disk.engine() });
  await set(await after.ready(), 'd', 'x');
  const resumed = await new DcpClient(await after.ready()).resume(persisted).open('persisted');
  assert.equal((await resumed.stream(0)).status, 0);
  await resumed.reach([[0, 2]]);
  const lost = await new DcpClient(await after.ready()).resume(ahead).open('ahead');
  const reply = await lost.stream(0);
  assert.deepEqual([reply.status, reply.value.readBigUInt64BE(0)], [rollback, 1n]);
  assert.equal((await lost.stream(0, { start: 1 })).status, 0);
});

test('a client that is ahead of the vbucket rolls back, as after an older copy of the data folder was restored', async () => {
  await using service = await startService(plain());
  await set(await service.ready(), 'a', 'x');
  const client = await new DcpClient(await service.ready()).open();
  await client.stream(0);
  await client.reach([[0, 1]]);
  const { uuid } = client.copyOf(0);
  const again = await new DcpClient(await service.ready()).open('again');
  const reply = await again.stream(0, { uuid, start: 9, snapStart: 9, snapEnd: 9 });
  assert.deepEqual([reply.status, reply.value.readBigUInt64BE(0)], [rollback, 1n]);
  assert.equal((await again.stream(0, { uuid, start: 1, snapStart: 1, snapEnd: 1 })).status, 0);
});
