// Streams while their bucket is restarted, flushed, deleted, compacted, purged, or short of memory, and while a TLS client pauses.
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { EndReason, OpenFlag, StreamFlag } from '#wire/dcp.ts';
import { Status } from '#wire/status.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import {
  aBucket,
  aDesired,
  persistToMajority,
  startService,
  type TestService,
} from '../../../test/support/data-service.ts';
import { DcpClient, liveDocuments } from '../../../test/support/dcp-client.ts';
import { KvConnection } from '../../../test/support/kv-connection.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import type { BucketSpec, KvDesired } from '../admin.ts';
import { defaultManifest } from '../bucket/manifest.ts';
import { sqliteEngine } from '../disk/adapters/sqlite-engine.ts';

const desiredState = (changes: Partial<BucketSpec> = {}): KvDesired =>
  aDesired({ buckets: [aBucket('b', { manifest: defaultManifest, ...changes })] });
const { uuid } = aBucket('b');
const { stateChanged, disconnected, rollback: rolledBack } = EndReason;
const { rollback, temporaryFailure } = Status;

const requestOf = (key: string, value: string, vb: number) => ({
  opcode: Opcode.set,
  vb,
  key: Buffer.from(`\0${key}`),
  value: Buffer.from(value),
  extras: Buffer.alloc(8),
});

/** Stores all documents, and retries those that are refused for lack of memory. */
async function storeAll(kv: KvConnection, values: Iterable<[string, string]>, vb = 0): Promise<void> {
  for (let left = [...values]; left.length > 0; ) {
    const batch = left.splice(0, 500);
    kv.send(...batch.map(([key, value]) => requestOf(key, value, vb)));
    for (const entry of batch) if ((await kv.next())?.status === temporaryFailure) left.push(entry);
  }
}

/** Writes the document `persisted`; returns its seqno once it and all earlier changes of the vbucket are on disk. */
async function writePersisted(kv: KvConnection, vb = 0): Promise<number> {
  const ask = () => kv.ask({ ...requestOf('persisted', 'x', vb), framing: persistToMajority });
  let reply = await ask();
  while (reply.status === temporaryFailure) reply = await ask();
  assert.equal(reply.status, 0);
  return Number(reply.extras.readBigUInt64BE(8));
}

/** Values by key: `count` documents with values of `bytes` bytes; the first key is `k${from}`. */
const documents = (count: number, bytes: number, from = 0): Map<string, string> =>
  new Map(
    Array.from(
      { length: count },
      (_, i) => [`k${from + i}`, `${from + i} `.padEnd(bytes, `${i % 10}`)] as const,
    ),
  );

function assertCopy(client: DcpClient, expected: Map<string, string>, vb = 0): void {
  const live = liveDocuments(client.copyOf(vb));
  live.delete('\0persisted');
  assert.equal(live.size, expected.size);
  for (const [key, value] of expected) assert.equal(live.get(`\0${key}`), value, key);
}

const openStreams = async (service: TestService, name: string, bufferBytes = 0): Promise<DcpClient> =>
  await new DcpClient(await service.ready()).open(
    name,
    OpenFlag.producer | OpenFlag.includeXattrs,
    bufferBytes > 0 ? { connection_buffer_size: `${bufferBytes}` } : {},
  );

/** Reads as much as the client's buffer has room for. */
async function takeBuffer(client: DcpClient, bytes: number): Promise<void> {
  await client.until(() => client.unacked >= bytes);
}

test('a restart of the bucket ends its streams; clients resume them over the same connection', async () => {
  await using service = await startService(desiredState());
  await storeAll(await service.ready(), documents(10, 10));
  const client = await openStreams(service, 'restart');
  await client.stream(0);
  await client.reach([[0, 10]]);
  const applied = service.service.apply(desiredState({ evictionPolicy: 'fullEviction' }));
  await client.until(() => client.copyOf(0).endReason === stateChanged);
  await applied;
  while ((await client.stream(0)).status === temporaryFailure);
  assert.equal(client.copyOf(0).endReason, null, 'the stream was not resumed');
  const kv = await service.ready();
  await storeAll(kv, documents(5, 10, 10));
  await client.reach([[0, 15]]);
  assertCopy(client, documents(15, 10));
  assert.equal(client.changes.length, 15, 'a change was sent twice');
});

test('streams end as disconnected, and their connections close, when their bucket is deleted', async () => {
  await using service = await startService(desiredState());
  await storeAll(await service.ready(), documents(2000, 1000));
  const [idle, stuck] = [await openStreams(service, 'idle'), await openStreams(service, 'stuck', 1000)];
  for (const client of [idle, stuck]) await client.stream(0);
  await idle.reach([[0, 2000]]);
  await takeBuffer(stuck, 1000);
  await service.service.apply(aDesired({ buckets: [] }));
  await Promise.all([idle, stuck].map(({ connection }) => connection.closed));
  await idle.until(() => idle.copyOf(0).endReason === disconnected);
  await stuck.until(() => stuck.copyOf(0).endReason === disconnected);
});

test('a flush ends a stream during its backfill, and its client starts from zero', async () => {
  await using service = await startService(desiredState());
  const kv = await service.ready();
  await storeAll(kv, documents(2000, 1000));
  await writePersisted(kv);
  const client = await openStreams(service, 'flush', 50_000);
  await client.stream(0);
  await takeBuffer(client, 50_000);
  await service.service.apply(desiredState({ incarnation: 2 }));
  client.ackBytes = 10_000;
  client.acknowledge();
  await client.until(() => client.copyOf(0).endReason === stateChanged);
  const reply = await client.stream(0);
  assert.deepEqual([reply.status, reply.value.readBigUInt64BE(0)], [rollback, 0n]);
  client.copies.delete(0);
  await storeAll(await service.ready(), documents(3, 10));
  assert.equal((await client.stream(0)).status, 0);
  await client.reach([[0, 3]]);
  assertCopy(client, documents(3, 10));
});

for (const evictionPolicy of ['valueOnly', 'fullEviction'] as const) {
  test(`${evictionPolicy}: streams send documents that are not in memory, from the start and when they fall behind`, async () => {
    await using service = await startService(desiredState({ evictionPolicy, quotaBytes: 8 * 1024 * 1024 }));
    const kv = await service.ready();
    const slow = await openStreams(service, 'slow', 20_000);
    await slow.stream(0);
    const expected = documents(14_000, 1000);
    await storeAll(kv, expected);
    const end = await writePersisted(kv);
    const { nonResident = 0 } = (await service.service.report()).buckets[0] ?? {};
    assert.ok(nonResident > 5000, `${nonResident} are on disk only`);
    const client = await openStreams(service, 'fresh');
    await client.stream(0);
    await client.reach([[0, end]]);
    assertCopy(client, expected);
    slow.ackBytes = 10_000;
    await slow.reach([[0, end]]);
    assertCopy(slow, expected);
  });
}

test('a stream over TLS sends everything to a client that pauses reading', async () => {
  const { certificate, key } = await makeCertificate();
  const tls = { minVersion: 'TLSv1.2', honorCipherOrder: true, certificate, key } as const;
  await using service = await startService({ ...desiredState(), tls });
  const expected = documents(8000, 1000);
  const kv = await service.ready();
  await storeAll(kv, expected);
  const end = await writePersisted(kv);
  const connection = await KvConnection.open(service.tlsPort, { ca: certificate });
  await connection.hello(usualFeatures);
  await connection.plain('admin', 'password');
  await connection.select('b');
  const client = await new DcpClient(connection).open('tls', OpenFlag.producer | OpenFlag.includeXattrs);
  await client.stream(0);
  await client.until(() => client.copyOf(0).position > 100);
  connection.socket.pause();
  await storeAll(kv, documents(10, 1000, 8000));
  connection.socket.resume();
  await client.reach([[0, end + 10]]);
  assertCopy(client, documents(8010, 1000));
  connection.close();
});

test('a backfill continues while its file is compacted and written to', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-streams-'));
  try {
    await using service = await startService(desiredState(), { disk: sqliteEngine(), dataDir });
    const kv = await service.ready();
    const expected = documents(6000, 1000);
    await storeAll(kv, expected);
    await writePersisted(kv);
    const client = await openStreams(service, 'compacted', 100_000);
    await client.stream(0);
    await takeBuffer(client, 100_000);
    assert.ok(client.copyOf(0).position < 1000);
    await service.service.compact(uuid, { origin: 'bucket', purgeBeforeSeconds: 0 });
    // Half of the documents move behind the snapshot, some of them while the file is copied.
    for (const [key] of documents(3000, 1000)) expected.set(key, `${key} again`);
    await storeAll(kv, [...expected].slice(0, 3000));
    const end = await writePersisted(kv);
    // The compaction writes the second generation of the file.
    await eventually(() => assert.equal(globSync(`${dataDir}/**/data-0.2.db`).length, 1));
    client.ackBytes = 50_000;
    client.acknowledge();
    await client.reach([[0, end]]);
    assertCopy(client, expected);
    assert.equal(client.copyOf(0).endReason, null);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

test('only a client that may have missed purged deletions rolls back to zero', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-streams-'));
  try {
    await using service = await startService(desiredState(), { disk: sqliteEngine(), dataDir });
    const kv = await service.ready();
    await storeAll(kv, documents(2000, 1000));
    const clients = await Promise.all(
      ['fresh', 'early', 'at', 'past'].map((name) => openStreams(service, name)),
    );
    // Later ten documents are deleted: `early` has none of the deletions, `at` ends with the last one, `past` has a later write too.
    const [fresh, early, at, past] = clients as [DcpClient, DcpClient, DcpClient, DcpClient];
    for (const client of [early, at, past]) await client.stream(0);
    await early.reach([[0, 2000]]);
    early.connection.close();
    for (let i = 0; i < 10; i++) await kv.ask({ opcode: Opcode.delete, key: Buffer.from(`\0k${i}`) });
    await at.reach([[0, 2010]]);
    at.connection.close();
    const end = await writePersisted(kv);
    await past.reach([[0, end]]);
    past.connection.close();
    const live = await openStreams(service, 'live');
    await live.resume(past).stream(0);
    const middle = await openStreams(service, 'middle', 100_000);
    await middle.stream(0);
    await takeBuffer(middle, 100_000);
    assert.ok(middle.copyOf(0).position > 0);

    await service.service.compact(uuid, { origin: 'bucket', purgeBeforeSeconds: 'all' });
    // The four files are compacted in order; this is the last one.
    await eventually(() => assert.equal(globSync(`${dataDir}/**/data-3.2.db`).length, 1));
    await eventually(async () => {
      assert.equal((await service.service.report()).buckets[0]?.compaction, null);
    });
    let tries = 0;
    const again = async (client: DcpClient, flags = 0): Promise<number> => {
      const next = await openStreams(service, `again ${tries++}`);
      const { status, value } = await next.resume(client).stream(0, { flags });
      if (status === rollback) assert.equal(value.readBigUInt64BE(0), 0n);
      next.connection.close();
      return status;
    };
    assert.equal(await again(early), rollback, 'a client without the ten deletions continued');
    assert.equal(
      await again(early, StreamFlag.ignorePurged),
      0,
      'a client that ignores purged deletions was rolled back',
    );
    assert.equal(await again(at), 0, 'a client that has the last purged deletion was rolled back');
    assert.equal(await again(past), 0);
    middle.ackBytes = 50_000;
    middle.acknowledge();
    await middle.until(() => middle.copyOf(0).endReason === rolledBack);
    assert.ok(middle.copyOf(0).position < 2010, 'the client received the whole snapshot');
    assert.equal(await again(middle), rollback);
    await storeAll(kv, documents(1, 10, 5000));
    await live.reach([[0, end + 1]]);
    await fresh.stream(0);
    await fresh.reach([[0, end + 1]]);
    assertCopy(fresh, new Map([...documents(1990, 1000, 10), ...documents(1, 10, 5000)]));
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
