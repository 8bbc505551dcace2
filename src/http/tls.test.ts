import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectPlain } from 'node:net';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { bind, defineRoute, reply } from '#contract/route.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import type { TlsSpec } from '#ports/tls.ts';
import { UnauthenticatedSockets } from '#ports/unauthenticated-sockets.ts';
import { makeCertificate } from '../../test/support/certificate.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { eventually } from '../../test/support/node-process.ts';
import { openListener } from './listener.host.ts';
import { createHttpServer } from './server.ts';

const aCertificate = async (): Promise<TlsSpec> => ({
  ...(await makeCertificate()),
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
});

const tlsRoute = defineRoute({
  id: 'tls',
  method: 'GET',
  path: '/tls',
  access: { kind: 'anyone' },
  doc: '',
});

/** Sends one request; returns the body and the fingerprint of the server's certificate. */
function get(port: number, maxVersion: 'TLSv1.1' | 'TLSv1.3'): Promise<{ body: string; peer: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      maxVersion,
      minVersion: 'TLSv1' as const,
    };
    const socket = connect(options, () => {
      socket.write('GET /tls HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    });
    let body = '';
    let peer = '';
    socket.once('secureConnect', () => {
      peer = socket.getPeerCertificate().fingerprint256;
    });
    socket.on('data', (chunk) => {
      body += chunk.toString();
    });
    socket.on('end', () => resolve({ body, peer }));
    socket.on('error', reject);
  });
}

test('the server has plain and TLS listeners, and replaces its certificate without a restart', async (t) => {
  const server = await createHttpServer({
    routes: [bind(tlsRoute, (_, context) => reply.text(`${context.isTls} ${context.local.port}`))],
    authority: {
      isProvisioned: () => true,
      anonymous: {
        identity: { name: '', domain: 'anonymous' },
        hasRoles: false,
        permits: () => false,
        holds: () => false,
      },
      byCertificate: () => null,
      authenticate: async () => null,
    },
    hooks: { clusterUuid: () => '', bucketUuid: () => null },
    log: silentLog,
    clock: realClock,
  });
  t.after(() => server.stop(0));
  const secure = await server.listen({ host: '127.0.0.1', port: 0, tls: await aCertificate() });
  const first = await get(secure.port, 'TLSv1.3');
  assert.match(first.body, new RegExp(`true ${secure.port}$`));
  await assert.rejects(get(secure.port, 'TLSv1.1'), 'a TLS version below the configured minimum');
  secure.replaceTls(await aCertificate());
  assert.notEqual((await get(secure.port, 'TLSv1.3')).peer, first.peer);
  const plain = await server.listen({ host: '127.0.0.1', port: 0 });
  assert.notEqual(plain.port, secure.port);
});

test('the server closes a silent TLS connection after 30 seconds', async (t) => {
  const clock = new ManualClock();
  const unauthenticated = new UnauthenticatedSockets(() => ({ perSource: 9, total: 9 }), clock);
  const handler = (_request: unknown, response: ServerResponse) => response.end('here');
  const listener = await openListener(handler, {
    host: '127.0.0.1',
    port: 0,
    tls: await aCertificate(),
    unauthenticated,
  });
  t.after(() => listener.close(realClock, 0));
  const silent = connectPlain(listener.port, '127.0.0.1').on('error', () => {});
  silent.resume();
  await eventually(async () => assert.equal(unauthenticated.total, 1));
  assert.equal((await get(listener.port, 'TLSv1.3')).body.endsWith('here'), true);
  await eventually(async () => assert.equal(unauthenticated.total, 1));
  clock.advance(30_000);
  await once(silent, 'close');
  await eventually(async () => assert.equal(unauthenticated.total, 0));
});
