import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect, createServer } from 'node:tls';
import { silentLog } from '#ports/log.ts';
import { memoryCluster } from '../../../test/support/cluster.ts';
import { ClusterStore } from '../config/cluster.store.ts';
import { FolderCertificates } from './certificate-files.adapter.ts';
import { CertificatesService } from './certificates.service.ts';
import { issueInProcess } from './hosts/issue.host.ts';

async function aService(folder: string) {
  const cluster = await memoryCluster();
  const files = new FolderCertificates(join(folder, 'certificates'));
  const service = new CertificatesService({
    ...cluster,
    files,
    issue: issueInProcess,
    log: silentLog,
    ownNames: ['10.1.2.3'],
  });
  return { ...cluster, service };
}

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  try {
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What a TLS client that trusts the authority sees when it asks for a name. */
async function handshake(service: CertificatesService, servername: string): Promise<X509Certificate> {
  const { pem } = await service.authority();
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  const tls = service.current();
  const server = createServer({ cert: tls?.certificate, key: tls?.key }, (socket) => socket.end());
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as { port: number };
    const socket = connect({ host: '127.0.0.1', port, servername, ca: pem }, () => {
      resolve(socket.getPeerX509Certificate() as X509Certificate);
      socket.destroy();
      server.close();
    });
    socket.on('error', (error) => {
      server.close();
      reject(error);
    });
  });
  return await promise;
}

describe('certificates', () => {
  it('makes an authority and a certificate that TLS clients accept by the node names', () =>
    withFolder(async (folder) => {
      const { service } = await aService(folder);
      await service.start();
      const { subject, notBefore, notAfter } = await service.authority();
      assert.match(subject, /^CN=Divan [0-9a-f]{8}$/);
      assert.equal(notBefore.toISOString(), '2013-01-01T00:00:00.000Z');
      assert.equal(notAfter.toISOString(), '2049-12-31T23:59:59.000Z');
      const seen = await handshake(service, 'localhost');
      assert.equal(
        seen.subjectAltName,
        'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:10.1.2.3',
      );
      await assert.rejects(handshake(service, 'elsewhere.example'), /altnames/);
      for (const name of ['ca-key.pem', 'node-key.pem']) {
        assert.equal(statSync(join(folder, 'certificates', name)).mode & 0o777, 0o600);
      }
    }));

  it('keeps both over a restart', () =>
    withFolder(async (folder) => {
      const first = (await aService(folder)).service;
      await first.start();
      const second = (await aService(folder)).service;
      await second.start();
      assert.equal((await second.authority()).pem, (await first.authority()).pem);
      assert.deepEqual(second.current(), first.current());
    }));

  it('makes a new one for the node under the same authority when its names change', () =>
    withFolder(async (folder) => {
      const { service, store } = await aService(folder);
      await service.start();
      const before = (await service.authority()).pem;
      const renewed = new Promise<void>((resolve) => service.onChange(resolve));
      const alternate = { hostname: 'db.example.com', ports: {} };
      await new ClusterStore(store).changeSelf((node) => ({ ...node, hostname: 'one.local', alternate }));
      await renewed;
      assert.equal((await service.authority()).pem, before);
      await handshake(service, 'one.local');
      await handshake(service, 'db.example.com');
      await service.stop();
    }));
});
