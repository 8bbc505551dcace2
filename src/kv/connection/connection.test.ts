// Behaviour of connections for clients that send too much, too little or too slowly.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { encodeRequest } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import { KvConnection } from '../../../test/support/kv-connection.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { connectionLimits } from './connection-limits.ts';

const set = (value: Buffer, opaque = 0) => ({
  opcode: Opcode.set,
  opaque,
  key: Buffer.from('\0k'),
  extras: Buffer.alloc(8),
  value,
});
const get = { opcode: Opcode.get, key: Buffer.from('\0k') };

test('a malformed frame is answered with EINVAL, then the connection is closed', async () => {
  await using service = await startService();
  const client = await service.connect();
  client.socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assert.equal((await client.next())?.status, Status.invalidArguments);
  assert.equal(await client.next(), null);
});

test('frames above 64 KiB are refused from unauthenticated clients, and above 30 MiB from authenticated ones', async () => {
  await using service = await startService();
  const unauthenticated = await service.connect();
  const large = encodeRequest(set(Buffer.alloc(connectionLimits.unauthenticatedFrameBytesMax)));
  unauthenticated.socket.write(large.subarray(0, 24));
  assert.equal((await unauthenticated.next())?.status, Status.invalidArguments);
  assert.equal(await unauthenticated.next(), null);
  const client = await service.ready();
  const claim = encodeRequest(set(Buffer.alloc(0)));
  claim.writeUInt32BE(30 * 1024 * 1024, 8);
  client.socket.write(claim);
  assert.equal((await client.next())?.status, Status.invalidArguments);
  assert.equal(await client.next(), null);
});

test('replies are the same however requests are split into chunks', async () => {
  await using service = await startService();
  const client = await service.ready();
  const stream = Buffer.concat([
    encodeRequest(set(Buffer.from('abc'), 1)),
    encodeRequest({ ...get, opaque: 2 }),
  ]);
  for (let split = 1; split < stream.length; split += 7) {
    client.socket.write(stream.subarray(0, split));
    await new Promise((resolve) => setImmediate(resolve));
    client.socket.write(stream.subarray(split));
    assert.deepEqual([(await client.next())?.opaque, (await client.next())?.value.toString()], [1, 'abc']);
  }
});

test('requests of a client that does not accept its replies are not read until it accepts them', async () => {
  await using service = await startService();
  const client = await service.ready();
  const value = Buffer.from(Uint32Array.from({ length: 256 * 1024 }, (_, at) => at).buffer);
  await client.ask(set(value));
  const count = 100;
  client.socket.pause();
  for (let opaque = 0; opaque < count; opaque++) client.send({ ...get, opaque });
  // Other clients are served meanwhile, and the buffer for the slow one is bounded.
  const other = await service.ready();
  assert.equal((await other.ask(get)).value.length, value.length);
  const { gets } = (await service.service.report()).buckets[0]!;
  assert.ok(gets < count, `${gets} reads were answered to a client that reads nothing`);
  client.socket.resume();
  for (let opaque = 0; opaque < count; opaque++) {
    const reply = await client.next();
    assert.equal(reply?.opaque, opaque);
    assert.ok(reply.value.equals(value), 'a reply that was taken in parts is not whole');
  }
});

for (const kind of ['plain', 'TLS'])
  test(`a client that ends its side at once gets a large reply whole: ${kind}`, async () => {
    const certificate = await makeCertificate();
    const tls = { minVersion: 'TLSv1.2', honorCipherOrder: true, ...certificate } as const;
    await using service = await startService(aDesired({ tls }));
    const writer = await service.ready();
    const value = Buffer.from(Uint32Array.from({ length: 4 * 1024 * 1024 }, (_, at) => at).buffer);
    await writer.ask(set(value));
    const client =
      kind === 'TLS'
        ? await KvConnection.open(service.tlsPort, { ca: certificate.certificate })
        : await KvConnection.open(service.port);
    await client.plain('admin', 'password');
    await client.select('b');
    client.socket.pause();
    client.send({ opcode: get.opcode, key: Buffer.from('k'), opaque: 1 });
    client.socket.end();
    await eventually(async () => assert.equal((await service.service.report()).buckets[0]!.gets, 1));
    client.socket.resume();
    const reply = await client.next();
    assert.deepEqual([reply?.opaque, reply?.value.equals(value)], [1, true]);
    assert.equal(await client.next(), null);
  });

test('no more connections are accepted than the limit', async () => {
  await using service = await startService(undefined, { connectionsMax: 2 });
  const first = await service.connect();
  const second = await service.connect();
  assert.equal((await first.ask({ opcode: Opcode.noop })).status, 0);
  assert.equal((await second.ask({ opcode: Opcode.noop })).status, 0);
  const third = await service.connect();
  assert.equal(await third.next(), null);
  first.close();
  while ((await service.service.report()).connections > 1)
    await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await (await service.connect()).ask({ opcode: Opcode.noop })).status, 0);
});

test('a client of a service that stops gets an answer or the end of its connection, never silence', {
  timeout: 600_000,
}, async () => {
  // No time passes: the end does not come from the limit of the time for last replies.
  const service = await startService(undefined, { clock: new ManualClock() });
  const client = await service.ready();
  const stopped = service.service.stop();
  const opaques: number[] = [];
  for (let opaque = 0; opaque < 50; opaque++) {
    client.socket.write(encodeRequest({ ...get, opaque }));
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (let reply = await client.next(); reply !== null; reply = await client.next())
    opaques.push(reply.opaque);
  await stopped;
  assert.deepEqual(
    opaques,
    opaques.map((_, index) => index),
    'a request before an answered one was dropped',
  );
});

test('connections without a login are closed after the time limit, but not idle ones', async () => {
  const clock = new ManualClock();
  await using service = await startService(undefined, { clock });
  const idle = await service.ready();
  const unauthenticated = await service.connect();
  assert.equal((await unauthenticated.ask({ opcode: Opcode.noop })).status, 0);
  clock.advance(connectionLimits.authenticationMs - 1000);
  assert.equal((await unauthenticated.ask({ opcode: Opcode.noop })).status, 0);
  clock.advance(7000);
  assert.equal(await unauthenticated.next(), null);
  assert.equal((await idle.ask({ opcode: Opcode.noop })).status, 0);
});

test('the service says that there are clients only when two connections are open at once', async () => {
  let calls = 0;
  await using service = await startService(undefined, { onSecondClient: () => calls++ });
  const first = await service.ready();
  first.socket.destroy();
  while ((await service.service.report()).connections > 0)
    await new Promise((resolve) => setImmediate(resolve));
  const second = await service.ready();
  assert.equal(calls, 0);
  const third = await service.ready();
  assert.equal(calls, 1);
  for (const { socket } of [second, third]) socket.destroy();
});

test('many pipelined requests of a client run in several turns, in order', async () => {
  let nowMs = 0;
  let turns = 0;
  const clock = {
    ...realClock,
    // Each reading of the clock advances it by a millisecond, so the time slice ends after some of them.
    monotonicMs: () => ++nowMs,
    soon: (callback: () => void) => {
      turns++;
      realClock.soon(callback);
    },
  };
  await using service = await startService(undefined, { clock });
  const client = await service.ready();
  const value = Buffer.alloc(1000);
  await client.ask(set(value));
  const before = turns;
  const count = 4000;
  client.send(...Array.from({ length: count }, (_, opaque) => ({ ...get, opaque })));
  for (let opaque = 0; opaque < count; opaque++) assert.equal((await client.next())?.opaque, opaque);
  assert.ok(turns - before >= 8, `only ${turns - before} turns`);
});

const twoUsers = aDesired({ users: [aUser('admin', 'password'), aUser('other', 'password')] });
const mebibyte = 1024 * 1024;
const large = encodeRequest(set(Buffer.alloc(8 * mebibyte)));

test('large incomplete requests of one user wait for each other, those of other users do not', async () => {
  await using service = await startService(twoUsers, {
    input: { perUser: 10 * mebibyte, total: 20 * mebibyte },
  });
  const clients = await Promise.all(Array.from({ length: 3 }, () => service.ready()));
  const other = await service.ready({ user: 'other' });
  for (const { socket } of clients) socket.write(large.subarray(0, mebibyte));
  other.socket.write(large);
  assert.equal((await other.next())?.status, 0);
  for (const { socket } of clients) socket.write(large.subarray(mebibyte));
  for (const client of clients) assert.equal((await client.next())?.status, 0);
});

test('a large request is not read without memory for it, which it gets when the connection of a passive client is closed', async () => {
  const clock = new ManualClock();
  const input = { perUser: 10 * mebibyte, total: 20 * mebibyte };
  await using service = await startService(undefined, { clock, input });
  const [first, second] = [await service.ready(), await service.ready()];
  first.socket.write(large.subarray(0, mebibyte));
  await eventually(async () => assert.ok((await service.service.report()).traffic.readBytes > mebibyte));
  second.socket.write(large);
  let isOver = false;
  const ended = first.next().finally(() => (isOver = true));
  while (!isOver) {
    clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(await ended, null);
  assert.equal((await second.next())?.status, 0, 'the memory of a closed connection is still reserved');
});

test('the time for a frame to arrive starts again with each frame', async () => {
  const clock = new ManualClock();
  await using service = await startService(undefined, { clock });
  const client = await service.ready();
  const frame = encodeRequest(set(Buffer.alloc(1000)));
  const half = frame.length / 2;
  client.socket.write(frame.subarray(0, half));
  for (let frames = 0; frames < 4; frames++) {
    clock.advance(connectionLimits.frameMs * 0.75);
    client.socket.write(Buffer.concat([frame.subarray(half), frame.subarray(0, half)]));
    assert.equal((await client.next())?.status, Status.success);
  }
  clock.advance(connectionLimits.frameMs * 2);
  assert.equal(await client.next(), null);
});
