// Limits of the cost of clients that accept nothing, request too much, or lose their privileges.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { EndReason } from '#wire/dcp.ts';
import { Status } from '#wire/status.ts';
import {
  aBucket,
  aDesired,
  aUser,
  persistToMajority,
  startService,
  type TestService,
} from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { type KvDesired, Privilege } from '../admin.ts';
import { defaultManifest } from '../bucket/manifest.ts';
import type { Producer } from '../producer/producer.ts';
import { bucketStreamsMax, Producers, producersMax } from '../served/producers.ts';

const desiredState = aDesired({ buckets: [aBucket('b', { manifest: defaultManifest })] });
const { temporaryFailure } = Status;
const { disconnected, tooSlow, lostPrivileges } = EndReason;

/** Timers run as usual, but the clock that is read is slow, so that a busy machine reaches no limit, and can be advanced. */
function jumpingClock() {
  let aheadMs = 0;
  const jump = (ms: number): void => {
    aheadMs += ms;
  };
  return { jump, clock: { ...realClock, monotonicMs: () => realClock.monotonicMs() / 100 + aheadMs } };
}

async function fill(kv: KvConnection, count: number, bytes: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const body = { key: Buffer.from(`\0k${i}`), value: Buffer.alloc(bytes, 'v'), extras: Buffer.alloc(8) };
    const framing = i === count - 1 ? { framing: persistToMajority } : {};
    assert.equal((await kv.ask({ opcode: Opcode.set, ...body, ...framing })).status, 0);
  }
}

async function statistics(service: TestService): Promise<Map<string, string>> {
  const kv = await service.ready();
  kv.send({ opcode: Opcode.stat, key: Buffer.from('dcp') });
  const found = new Map<string, string>();
  for (;;) {
    const reply = await kv.next();
    if (!reply || reply.key.length === 0) break;
    found.set(reply.key.toString(), reply.value.toString());
  }
  kv.close();
  return found;
}

/** Pages that streams hold or wait for. */
const pagesHeld = async (service: TestService): Promise<number> =>
  Number((await statistics(service)).get('ep_dcp_num_running_backfills'));

test('the pages of a client that accepts nothing are dropped after five seconds, and read again later', async () => {
  const { clock, jump } = jumpingClock();
  await using service = await startService(desiredState, { clock });
  await fill(await service.ready(), 300, 5000);
  const client = await new DcpClient(await service.ready()).open('stuck', 1, {
    connection_buffer_size: '20000',
  });
  await client.stream(0);
  await client.until(() => client.unacked >= 20_000);
  assert.equal(await pagesHeld(service), 1);
  // Several times: the first page may be read before the server notices that the client does not read.
  await eventually(async () => {
    jump(5000);
    assert.equal(await pagesHeld(service), 0);
  });
  client.ackBytes = 10_000;
  client.acknowledge();
  await client.reach([[0, 300]]);
  assert.deepEqual(
    client.changes.map(({ seqno }) => seqno),
    Array.from({ length: 300 }, (_, i) => i + 1),
  );
  assert.equal(await pagesHeld(service), 0);
});

test('a client whose socket accepts nothing for two minutes gets "too slow", and its connection is closed', async () => {
  const { clock, jump } = jumpingClock();
  await using service = await startService(desiredState, { clock });
  await fill(await service.ready(), 40, 500_000);
  const client = await new DcpClient(await service.ready()).open('slow');
  const patient = await new DcpClient(await service.ready()).open('patient', 1, {
    connection_buffer_size: '9',
  });
  await patient.stream(0);
  await patient.until(() => patient.unacked > 9);
  await client.stream(0);
  client.connection.socket.pause();
  await eventually(async () => assert.equal(await pagesHeld(service), 2));
  await eventually(async () => {
    const hasStream = [...(await statistics(service)).keys()].some((key) => key.includes(':slow:stream_0'));
    if (hasStream) jump(120_000);
    assert.ok(!hasStream);
  });
  client.connection.socket.resume();
  await client.until(() => client.copyOf(0).endReason === tooSlow);
  assert.ok(client.copyOf(0).position < 40);
  await client.connection.closed;
  patient.ackBytes = 5000;
  patient.acknowledge();
  await patient.reach([[0, 40]]);
});

const streamOf = (vb: number) => {
  const extras = Buffer.alloc(48);
  extras.fill(0xff, 16, 24);
  return { opcode: Opcode.dcpStreamRequest, vb, extras };
};

test('a newer connection of the same name ends the streams of the older one as disconnected, and closes it', async () => {
  await using service = await startService(desiredState);
  const older = await new DcpClient(await service.ready()).open('same');
  await older.stream(0);
  const newer = await new DcpClient(await service.ready()).open('same');
  assert.equal((await newer.stream(0)).status, 0);
  await older.until(() => older.copyOf(0).endReason === disconnected);
  await older.connection.closed;
});

test('at the limit of change stream connections a new name is refused, and a client that connects again under its name is not', async () => {
  await using service = await startService(desiredState);
  const connections = await Promise.all(
    Array.from({ length: producersMax }, async (_, n) =>
      new DcpClient(await service.ready()).open(`client ${n}`),
    ),
  );
  const open = { opcode: Opcode.dcpOpen, extras: Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]) };
  const kv = await service.ready();
  assert.equal((await kv.ask({ ...open, key: Buffer.from('another client') })).status, temporaryFailure);
  assert.equal((await kv.ask({ ...open, key: Buffer.from('client 7') })).status, 0);
  await connections[7]?.connection.closed;
});

test('a bucket has a limited number of streams', () => {
  const producers = new Producers();
  const of = (name: string, streamCount: number) => ({ name, streamCount }) as Producer;
  producers.add(of('a', bucketStreamsMax - 1));
  assert.equal(producers.isFullOfStreams, false);
  producers.add(of('b', 1));
  assert.equal(producers.isFullOfStreams, true);
});

test('a request for one stream too many gets a temporary failure, and earlier streams continue', async () => {
  await using service = await startService(desiredState);
  const client = await new DcpClient(await service.ready()).open('many', 1, { enable_stream_id: 'true' });
  const requests = Array.from({ length: 4096 }, (_, i) => ({
    ...streamOf(i % 1024),
    value: Buffer.from(JSON.stringify({ sid: 1 + Math.floor(i / 1024) })),
  }));
  client.connection.send(...requests);
  for (const _ of requests) assert.equal((await client.connection.next())?.status, 0);
  const reply = await client.stream(0, { value: { sid: 9 } });
  assert.deepEqual(
    [reply.status, JSON.parse(reply.value.toString()).error.context],
    [temporaryFailure, 'Too many streams on the connection'],
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.dcpCloseStream, vb: 5, framing: Buffer.from([0x22, 0, 1]) })).status,
    0,
  );
  assert.equal((await client.stream(0, { value: { sid: 9 } })).status, 0);
});

for (const left of ['reading', 'nothing'] as const) {
  test(`a stream of a collection whose user keeps ${left} ends, even without changes in it`, async () => {
    const { dcpProducer, dcpStream, read } = Privilege;
    const user = (orders: number): KvDesired => {
      const collections = { '8': orders, '9': dcpStream | read };
      const grants = {
        node: 0,
        buckets: { b: { privileges: dcpProducer, scopes: { '8': { privileges: 0, collections } } } },
      };
      return aDesired({ users: [aUser('admin', 'password'), aUser('partly', 'password', grants)] });
    };
    await using service = await startService(user(dcpStream | read));
    const client = await new DcpClient(await service.ready({ user: 'partly' })).open('partly', 1, {
      enable_stream_id: 'true',
    });
    assert.equal((await client.stream(0, { value: { collections: ['8', '9'], sid: 1 } })).status, 0);
    assert.equal((await client.stream(1, { value: { collections: ['9'], sid: 2 } })).status, 0);
    await service.service.apply(user(left === 'reading' ? read : 0));
    await client.until(() => client.copyOf(0).endReason === lostPrivileges);
    assert.equal(client.copyOf(1).endReason, null, 'the stream of the other vbucket ended');
    await service.service.apply(aDesired());
    await client.until(() => client.copyOf(1).endReason === lostPrivileges);
    await client.connection.closed;
  });
}
