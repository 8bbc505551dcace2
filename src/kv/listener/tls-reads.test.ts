// TLS connections of one thread, which are all read into one buffer and whose small replies are copied.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { encodeRequest } from '#wire/output.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { aDesired, startService, type TestService } from '../../../test/support/data-service.ts';
import { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const certificate = await makeCertificate();
const tls = { minVersion: 'TLSv1.2', honorCipherOrder: true, ...certificate } as const;

const set = (key: string, value: Buffer, opaque = 0) => ({
  opcode: Opcode.set,
  opaque,
  key: Buffer.from(key),
  extras: Buffer.alloc(8),
  value,
});
const get = (key: string, opaque = 0) => ({ opcode: Opcode.get, opaque, key: Buffer.from(key) });
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

async function aClient({ tlsPort }: TestService): Promise<KvConnection> {
  const client = await KvConnection.open(tlsPort, { ca: certificate.certificate });
  await client.plain('admin', 'password');
  await client.select('b');
  return client;
}

for (const withoutSharedBuffer of [false, true])
  test(`requests that arrive in parts on several connections are not mixed up, ${withoutSharedBuffer ? 'with events' : 'with one buffer'}`, async () => {
    await using service = await startService(aDesired({ tls }), { withoutSharedBuffer });
    const clients = await Promise.all(Array.from({ length: 4 }, () => aClient(service)));
    const streams = clients.map((_, at) =>
      Buffer.concat([
        encodeRequest(set(`key ${at}`, Buffer.alloc(50 + at, at), 1)),
        encodeRequest(get(`key ${at}`, 2)),
      ]),
    );
    for (let split = 1; split < (streams[0] as Buffer).length; split += 5) {
      for (const [at, { socket }] of clients.entries())
        socket.write((streams[at] as Buffer).subarray(0, split));
      await nextTurn();
      for (const [at, { socket }] of clients.entries()) socket.write((streams[at] as Buffer).subarray(split));
      for (const [at, client] of clients.entries()) {
        assert.equal((await client.next())?.opaque, 1);
        assert.ok((await client.next())?.value.equals(Buffer.alloc(50 + at, at)));
      }
    }
  });

test('a client that accepts its small replies late gets them whole and in order, and until then the node reads none of its requests', async () => {
  await using service = await startService(aDesired({ tls }));
  const [slow, other] = [await aClient(service), await aClient(service)];
  const value = (opaque: number): Buffer => Buffer.alloc(4000, opaque % 251);
  const keys = 251;
  for (let at = 0; at < keys; at++) await other.ask(set(`key ${at}`, value(at)));
  const count = 10_000;
  slow.socket.pause();
  for (let opaque = 0; opaque < count; opaque++) {
    slow.send(get(`key ${opaque % keys}`, opaque));
    await nextTurn();
  }
  const reads = async (): Promise<number> => (await service.service.report()).buckets[0]?.gets ?? 0;
  let before: number;
  do {
    before = await reads();
    for (let turn = 0; turn < 50; turn++) await other.ask(set('other', value(0)));
  } while ((await reads()) > before);
  assert.ok(before < count, `${before} reads were answered to a client that reads nothing`);
  slow.socket.resume();
  for (let opaque = 0; opaque < count; opaque++) {
    const reply = await slow.next();
    assert.equal(reply?.opaque, opaque);
    assert.ok(reply.value.equals(value(opaque % keys)), `reply ${opaque}`);
  }
});

test('a client that sends no TLS after the handshake is disconnected, and others are served', async () => {
  await using service = await startService(aDesired({ tls }));
  const other = await aClient(service);
  const raw: Socket = connect(service.tlsPort, '127.0.0.1');
  await once(raw, 'connect');
  const secure = connectTls({
    socket: raw,
    ca: certificate.certificate,
    checkServerIdentity: () => undefined,
  });
  await once(secure, 'secureConnect');
  const closed = new Promise((resolve) => secure.on('close', resolve));
  secure.on('error', () => {}); // the node answers with an alert
  raw.write(Buffer.alloc(1000, 0x80));
  secure.resume();
  await closed;
  assert.equal((await other.ask(set('k', Buffer.from('v')))).status, 0);
});
