// Which NATS servers a node connects to, and how: encryption, logins, versions.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { NatsCluster } from '../../../test/support/nats-servers.ts';
import { natsStore } from '../../../test/support/nats-store.ts';
import { needs } from '../../../test/support/needs.ts';
import { FinalError } from '../mirror/config-link.ts';

const skip = needs('nats-server');

/** A server that sends INFO and answers pings, so that a client can log in. */
async function fakeServer(info: object): Promise<{ url: string; server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    const { port } = server.address() as AddressInfo;
    socket.write(
      `INFO ${JSON.stringify({ host: '127.0.0.1', port, max_payload: 1e6, proto: 1, ...info })}\r\n`,
    );
    socket.on('data', (bytes) => {
      if (bytes.includes('PING')) socket.write('PONG\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** Lets a client log in, and answers each of its requests that nobody responds. */
function withoutResponders(socket: Socket): void {
  const info = {
    version: '2.15.2',
    host: '127.0.0.1',
    port: 4222,
    max_payload: 1e6,
    proto: 1,
    headers: true,
  };
  socket.write(`INFO ${JSON.stringify({ ...info, jetstream: true })}\r\n`);
  const status = 'NATS/1.0 503\r\n\r\n';
  let inbox = '';
  socket.on('error', () => {});
  socket.setEncoding('utf8').on('data', (text: string) => {
    if (text.includes('PING')) socket.write('PONG\r\n');
    inbox = /SUB \S+ (\d+)/.exec(text)?.[1] ?? inbox;
    for (const [, reply] of text.matchAll(/PUB \S+ (\S+) \d+\r\n/g))
      socket.write(`HMSG ${reply} ${inbox} ${status.length} ${status.length}\r\n${status}\r\n`);
  });
}

describe('connection to NATS', { skip }, () => {
  it('encrypts, verifies the server and presents a client certificate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'divan-nats-tls-'));
    const { certificate, key } = await makeCertificate();
    const otherCertificate = await makeCertificate();
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const [cert, keyFile] = [file('cert.pem', certificate), file('key.pem', key)];
    const other = file('other.pem', otherCertificate.certificate);
    const extra = `tls { cert_file: "${cert}", key_file: "${keyFile}", ca_file: "${cert}", verify: true }`;
    try {
      await using servers = await NatsCluster.start({ extra });
      const url = servers.url.replace('nats://127.0.0.1', 'tls://localhost');
      const files = { ca: cert, cert, key: keyFile };
      await using store = await natsStore(url, { files });
      assert.equal(await store.put('k', 1, 0), 1);
      await assert.rejects(
        natsStore(url, { files: { ...files, ca: other } }),
        /no secure connection to NATS/,
      );
      await assert.rejects(
        natsStore(url, { files: { ...files, ca: join(folder, 'absent') } }),
        /cannot read .*absent/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses a server without TLS where TLS is required, and one that refuses the login', async () => {
    await using servers = await NatsCluster.start({ extra: 'authorization { user: ann, password: secret }' });
    const wrong = servers.url.replace('nats://', 'nats://ann:other@');
    await assert.rejects(natsStore(wrong), /NATS refuses the user or password of this node/);
    const right = servers.url.replace('nats://', 'nats://ann:secret@');
    await assert.rejects(natsStore(right.replace('nats:', 'tls:')), FinalError);
    await using store = await natsStore(right);
    assert.equal(await store.put('k', 1, 0), 1);
  });

  it('tries the next server when one cannot be reached', async () => {
    await using servers = await NatsCluster.start();
    await using store = await natsStore(servers.url.replace('nats://', 'nats://127.0.0.1:1,'));
    assert.equal(await store.put('k', 1, 0), 1);
  });

  it('opens another connection where a server answers no request, such as one that is cut off from the others', async () => {
    await using servers = await NatsCluster.start();
    let connections = 0;
    const relay = createServer((socket) => {
      if (++connections === 1) {
        withoutResponders(socket);
        return;
      }
      const { hostname, port } = new URL(servers.url);
      const real = connect(Number(port), hostname);
      for (const [from, to] of [
        [socket, real],
        [real, socket],
      ] as const) {
        from.on('error', () => to.destroy());
        from.pipe(to);
      }
    });
    relay.listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const { port } = relay.address() as AddressInfo;
    const store = await natsStore(`nats://127.0.0.1:${port}`);
    assert.deepEqual([await store.put('k', 1, 0), connections], [1, 2]);
    await store[Symbol.asyncDispose]();
    relay.close();
  });

  it('refuses an old server of a cluster, one whose cluster has an old server, and one without JetStream', async () => {
    const old = await fakeServer({ version: '2.11.11', cluster: 'c', jetstream: true });
    await assert.rejects(
      natsStore(old.url),
      /is of version 2\.11\.11; servers of a cluster must be of 2\.12 or later/,
    );
    const urlsOfOld = [old.url.slice('nats://'.length)];
    const mixed = await fakeServer({
      version: '2.15.2',
      cluster: 'c',
      jetstream: true,
      connect_urls: urlsOfOld,
    });
    await assert.rejects(natsStore(mixed.url), /is of version 2\.11\.11; servers of a cluster/);
    const withoutJetStream = await fakeServer({ version: '2.15.2' });
    await assert.rejects(natsStore(withoutJetStream.url), /runs without JetStream; start it with -js/);
    for (const { server } of [old, mixed, withoutJetStream]) server.close();
  });
});
