// The plain and the TLS port between nodes, which are published as dist ports.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { TlsSpec } from '#ports/tls.ts';
import { connectToNode, nodeProtocols } from '#replog/served/node-connect.adapter.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { aNodeAuthority } from '../../../test/support/node-authority.ts';
import { DistPorts } from './dist-ports.host.ts';

const aTls = async (): Promise<TlsSpec> => ({
  ...(await makeCertificate()),
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
});

async function textFrom(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += chunk;
  return text;
}

it('sends the greeting on both ports and closes the connection', async () => {
  const certificate = await aTls();
  const ports = new DistPorts({ host: '127.0.0.1', port: 0, tlsPort: 0, greeting: 'Divan 7\r\n' });
  const plain = await ports.startPlain();
  const secure = await ports.startTls(certificate);
  assert.equal(await textFrom(connect(plain, '127.0.0.1')), 'Divan 7\r\n');
  const ca = certificate.certificate;
  const tls = connectTls({ port: secure, host: '127.0.0.1', ca, servername: 'localhost' });
  assert.equal(await textFrom(tls), 'Divan 7\r\n');
  const noise = connect(secure, '127.0.0.1', () => noise.end('not TLS at all\r\n\r\n'));
  await textFrom(noise).catch(() => {}); // either side may close it first
  ports.replaceTls(await aTls());
  await ports.stop();
});

it('reports which port is in use', async () => {
  const ports = new DistPorts({ host: '127.0.0.1', port: 0, tlsPort: 0, greeting: '' });
  const port = await ports.startPlain();
  const second = new DistPorts({ host: '127.0.0.1', port, tlsPort: 0, greeting: '' });
  await assert.rejects(second.startPlain(), { code: 'EADDRINUSE', port });
  await ports.stop();
});

it('serves a node while clients without a certificate open more connections from its address than are accepted', async () => {
  const issue = await aNodeAuthority();
  const credentials = async (node: string) => {
    const { certificate, key, authority } = await issue(node);
    return { cert: certificate, key, ca: authority };
  };
  const host = '127.0.0.1';
  const ports = new DistPorts({ host, port: 0, tlsPort: 0, greeting: '' });
  const port = await ports.startTls(await aTls());
  const served = Promise.withResolvers<string>();
  ports.serveNodes(await credentials('b'), (_, node) => served.resolve(node));
  const strangers = Array.from({ length: 300 }, () => connect(port, host).on('error', () => {}));
  await Promise.all(strangers.map((stranger) => once(stranger, 'connect')));
  const { manager } = nodeProtocols;
  const channel = await connectToNode({ nodeId: 'b', host, port }, await credentials('a'), manager);
  assert.equal(await served.promise, 'a');
  channel.close();
  for (const stranger of strangers) stranger.destroy();
  await ports.stop();
});
