// Connections to a REST port whose clients send nothing, no whole request or no credentials, over real sockets: how long they stay open,
// and that they exclude only clients of their own address.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { Caller } from '#auth/authority.ts';
import { bind, defineRoute, reply } from '#contract/route.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { UnauthenticatedSockets } from '#ports/unauthenticated-sockets.ts';
import { makeCertificate } from '../../test/support/certificate.ts';
import { eventually } from '../../test/support/node-process.ts';
import { openListener } from './listener.host.ts';
import { createHttpServer } from './server.ts';

async function aListener(t: TestContext, limits: { perSource: number; total: number }) {
  const { certificate, key } = await makeCertificate();
  const unauthenticated = new UnauthenticatedSockets(() => limits);
  const listener = await openListener((_, response) => response.end('served'), {
    host: '127.0.0.1',
    port: 0,
    tls: { certificate, key, minVersion: 'TLSv1.2', honorCipherOrder: true },
    unauthenticated,
  });
  t.after(() => listener.close(realClock, 0));
  return { listener, unauthenticated };
}

async function silentSocket(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
  socket.resume();
  await once(socket, 'connect');
  return socket;
}

async function answerTo(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

test('an address at its limit of silent connections gets no more, and other addresses are served', async (t) => {
  const { listener, unauthenticated } = await aListener(t, { perSource: 4, total: 6 });
  const crowd = await Promise.all(Array.from({ length: 8 }, () => silentSocket(listener.port, '127.0.0.2')));
  await eventually(() => assert.equal(crowd.filter(({ closed }) => closed).length, 4));
  t.after(() => crowd.forEach((socket) => void socket.destroy()));
  const others = await Promise.all(Array.from({ length: 4 }, () => silentSocket(listener.port, '127.0.0.3')));
  await eventually(() => assert.equal(unauthenticated.total, 6));
  // The limit in all is reached, so this client replaces a connection of the address that has the most.
  const client = connectTls({ port: listener.port, host: '127.0.0.1', rejectUnauthorized: false });
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  assert.match(await answerTo(client), /200 OK[\s\S]*served/);
  for (const socket of [...crowd, ...others]) socket.destroy();
  await eventually(() => assert.equal(unauthenticated.total, 0));
});

test('a connection may be idle before its first request, and half a request has a time limit', async () => {
  const { certificate, key } = await makeCertificate();
  for (const tls of [
    undefined,
    { certificate, key, minVersion: 'TLSv1.2', honorCipherOrder: true } as const,
  ]) {
    const timeouts = { headersMs: 100, idleMs: 60_000, checkMs: 10, lingerMs: 5_000 };
    const listener = await openListener((_, response) => response.end('served'), {
      host: '127.0.0.1',
      port: 0,
      timeouts,
      ...(tls && { tls }),
    });
    const { port } = listener;
    const open = (): Socket =>
      tls
        ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
        : connect({ port, host: '127.0.0.1' });
    const idle = open();
    await once(idle, tls ? 'secureConnect' : 'connect');
    const halfSent = open();
    halfSent.write('GET / HTTP/1.1\r\nHost: x\r\n');
    // Only the half-sent request has reached its time limit, although the idle connection is older.
    assert.match(await answerTo(halfSent), /^HTTP\/1.1 408 /);
    idle.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(await answerTo(idle), /^HTTP\/1.1 200 OK[\s\S]*served/);
    // A listener that closes does not wait for a connection that has sent nothing.
    const silent = open();
    await once(silent, tls ? 'secureConnect' : 'connect');
    const closed = once(silent.resume(), 'close');
    await listener.close(realClock, 60_000);
    await closed;
  }
});

for (const [kind, sent, keeps] of [
  ['half a request', 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'goes on sending'],
  ['a malformed request', 'none\r\n\r\n', 'does not close'],
] as const)
  test(`a client that sent ${kind} is disconnected soon after the refusal, although it ${keeps}`, async (t) => {
    const timeouts = { headersMs: 100, idleMs: 60_000, checkMs: 10, lingerMs: 50 };
    let requests = 0;
    const unauthenticated = new UnauthenticatedSockets(() => ({ perSource: 4, total: 4 }));
    const address = { host: '127.0.0.1', port: 0 };
    const options = { ...address, timeouts, unauthenticated };
    const listener = await openListener(() => void requests++, options);
    t.after(() => listener.close(realClock, 0));
    const client = connect({ port: listener.port, host: '127.0.0.1', allowHalfOpen: true });
    client.on('error', () => {});
    client.write(sent);
    const [answer] = (await once(client, 'data')) as [Buffer];
    assert.match(String(answer), /^HTTP\/1.1 40[08] /);
    if (keeps === 'goes on sending')
      await eventually(() => {
        if (client.writable) client.write('a');
        assert.ok(client.closed);
      });
    await eventually(() => assert.equal(unauthenticated.total, 0));
    assert.equal(requests, 0);
    client.destroy();
  });

test('a connection that stays silent is closed', async () => {
  const timeouts = { headersMs: 10_000, idleMs: 20, checkMs: 10_000, lingerMs: 5_000 };
  const listener = await openListener(() => {}, { host: '127.0.0.1', port: 0, timeouts });
  assert.equal(await answerTo(connect({ port: listener.port, host: '127.0.0.1' })), '');
  await listener.close(realClock, 0);
});

test('a connection counts as unauthenticated until a request with credentials, also after requests without', async (t) => {
  const callerNamed = (name: string): Caller => ({
    identity: { name, domain: name === '' ? 'anonymous' : 'admin' },
    hasRoles: name !== '',
    permits: () => name !== '',
    holds: () => false,
  });
  const server = await createHttpServer({
    routes: [
      bind(
        defineRoute({ id: 'open', method: 'GET', path: '/open', access: { kind: 'anyone' }, doc: '' }),
        () => reply.text('served'),
      ),
    ],
    authority: {
      isProvisioned: () => true,
      anonymous: callerNamed(''),
      byCertificate: () => null,
      authenticate: async ({ name }) => callerNamed(name),
    },
    hooks: { clusterUuid: () => '', bucketUuid: () => null },
    log: silentLog,
    clock: realClock,
  });
  t.after(() => server.stop(0));
  const unauthenticated = new UnauthenticatedSockets(() => ({ perSource: 4, total: 4 }));
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, unauthenticated });
  const client = connect({ port, host: '127.0.0.1' });
  t.after(() => client.destroy());
  const answerAfter = async (headers: string): Promise<string> => {
    client.write(`GET /open HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    const [chunk] = (await once(client, 'data')) as [Buffer];
    return chunk.toString();
  };
  assert.match(await answerAfter(''), /200 OK[\s\S]*served/);
  assert.equal(unauthenticated.total, 1);
  const credentials = Buffer.from('admin:password').toString('base64');
  assert.match(await answerAfter(`Authorization: Basic ${credentials}\r\n`), /200 OK[\s\S]*served/);
  assert.equal(unauthenticated.total, 0);
});
