import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Server } from 'node:net';
import { describe, it } from 'node:test';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { callRemote } from './remote-node.adapter.ts';
import { readTarget, type TargetAddress } from './target-address.ts';

const echo: RequestListener = (request, response) => {
  request.resume();
  response.end(`${request.method} ${request.headers.authorization ?? 'nobody'}`);
};

async function withServer(server: Server, run: (port: number) => Promise<void>): Promise<void> {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  await run((server.address() as AddressInfo).port).finally(() => server.close());
}

const call = (address: string, timeoutMs = 60_000, localAddress?: string) =>
  callRemote({
    localAddress,
    target: readTarget(address) as TargetAddress,
    path: '/x',
    timeoutMs,
    user: 'ann',
    password: 'pw',
    content: { form: { a: '1' } },
  });
const basic = `POST Basic ${Buffer.from('ann:pw').toString('base64')}`;

describe('calls of another node', () => {
  it('use the scheme of the address, and find out which one a port without a scheme has', async () => {
    const { certificate, key } = await makeCertificate();
    await withServer(createServer(echo), async (port) => {
      for (const address of [`http://127.0.0.1:${port}`, `127.0.0.1:${port}`]) {
        const { status, body, scheme, localAddress } = await call(address);
        assert.deepEqual([status, body, scheme, localAddress], [200, basic, 'http', '127.0.0.1']);
      }
      const target = readTarget(`http://127.0.0.1:${port}`) as TargetAddress;
      const read = await callRemote({ target, path: '/x', timeoutMs: 60_000, user: '', password: '' });
      assert.equal(read.body, 'GET nobody');
      await assert.rejects(call(`https://127.0.0.1:${port}`), {
        name: 'RemoteError',
        message: `Failed to connect to https://127.0.0.1:${port}. Port ${port} of "127.0.0.1" does not use TLS; give its TLS port, or http://.`,
      });
    });
    await withServer(createTlsServer({ cert: certificate, key }, echo), async (port) => {
      for (const address of [`https://127.0.0.1:${port}`, `127.0.0.1:${port}`])
        assert.deepEqual((await call(address)).scheme, 'https');
    });
  });

  it('say that the other node demands client certificates', async () => {
    const { certificate, key } = await makeCertificate();
    const demanding = { cert: certificate, key, requestCert: true, rejectUnauthorized: true };
    await withServer(createTlsServer(demanding, echo), async (port) => {
      // The system may report the end of the connection before what the node said.
      await assert.rejects(call(`https://127.0.0.1:${port}`), {
        name: 'RemoteError',
        message: /\. (It demands client certificates; use its port without TLS|Could not connect to "127)/,
      });
    });
  });

  it('come from the given address', {
    skip: process.platform !== 'linux' && 'needs addresses other than 127.0.0.1',
  }, async () => {
    const caller: RequestListener = ({ socket }, response) => void response.end(socket.remoteAddress);
    await withServer(createServer(caller), async (port) => {
      assert.equal((await call(`http://127.0.0.1:${port}`, 60_000, '127.9.8.7')).body, '127.9.8.7');
    });
  });

  it('fail with the published texts when no server listens, or it does not answer in time', async () => {
    await assert.rejects(
      call('http://127.0.0.1:1'),
      /^RemoteError: Failed to connect to http:\/\/127\.0\.0\.1:1\. Could not connect to "127\.0\.0\.1" on port 1\. {2}This could be due to/,
    );
    await assert.rejects(call('http://nobody.invalid'), /Failed to resolve address for "nobody\.invalid"/);
    const silent = createNetServer(() => {});
    const slow = createNetServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const timer = setInterval(() => socket.write(' '), 20);
      socket.on('error', () => {}).on('close', () => clearInterval(timer));
    });
    for (const server of [silent, slow])
      await withServer(server, async (port) => {
        const unanswered = call(`http://127.0.0.1:${port}`, server === slow ? 400 : 50);
        await assert.rejects(unanswered, /^RemoteError: Timeout connecting to http:/);
      });
  });
});
