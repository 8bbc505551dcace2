import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect, createServer } from 'node:tls';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { aCluster, memoryCluster, nodeNamed, ownNodeId } from '../../../test/support/cluster.ts';
import { issuedCertificates } from '../../../test/support/manager.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { ClusterStore } from '../config/cluster.store.ts';
import { FolderCertificates } from './certificate-files.adapter.ts';
import { CertificatesService } from './certificates.service.ts';
import { CertificatesStore } from './certificates.store.ts';
import { clientAuthSetting } from './client-auth.ts';
import { issue } from './issue.ts';

const secrets = new SecretBox(Buffer.alloc(secretKeyBytes, 1), realRandom);

/** The cipher suites of the cluster, which a test changes. */
class Suites {
  needsRsa = false;
  private listener = (): void => {};

  onChange(listener: () => void) {
    this.listener = listener;
    return { stop: () => {} };
  }

  choose({ needsRsa }: { needsRsa: boolean }): void {
    this.needsRsa = needsRsa;
    this.listener();
  }
}

async function aService(folder: string, existing?: ConfigStore, suites = new Suites(), nodeId = ownNodeId) {
  const cluster = await memoryCluster(1024, aCluster({ nodes: [nodeNamed(nodeId, { hostname: null })] }));
  const files = new FolderCertificates(join(folder, 'certificates'));
  const certificates = new CertificatesStore(existing ?? cluster.store, secrets);
  const clientAuth = clientAuthSetting(cluster.store);
  await clientAuth.start();
  const service = new CertificatesService({
    ...cluster,
    store: certificates,
    clientAuth,
    files,
    issue,
    log: silentLog,
    ownNames: ['10.1.2.3'],
    suites: () => suites,
  });
  const root = () => certificates.state.authorities.at(-1)?.pem ?? '';
  return { ...cluster, certificates, service, root, suites };
}

type Running = Awaited<ReturnType<typeof aService>>;

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  try {
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The certificate that a TLS client gets for a name; the client trusts the authority. */
async function handshake(
  { service, root }: { service: CertificatesService; root: () => string },
  servername: string,
): Promise<X509Certificate> {
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  const tls = service.current();
  const server = createServer({ cert: tls?.certificate, key: tls?.key }, (socket) => socket.end());
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as { port: number };
    const socket = connect({ host: '127.0.0.1', port, servername, ca: root() }, () => {
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
  it('generates an authority and a certificate that TLS clients accept under the names of the node', () =>
    withFolder(async (folder) => {
      const running = await aService(folder);
      await running.service.start();
      const authority = new X509Certificate(running.root());
      assert.match(authority.subject, /^CN=Divan [0-9a-f]{8}$/);
      assert.equal(new Date(authority.validFrom).toISOString(), '2013-01-01T00:00:00.000Z');
      assert.equal(new Date(authority.validTo).toISOString(), '2049-12-31T23:59:59.000Z');
      const seen = await handshake(running, 'localhost');
      assert.equal(
        seen.subjectAltName,
        'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:10.1.2.3',
      );
      await assert.rejects(handshake(running, 'elsewhere.example'), /altnames/);
    }));

  it('keeps authority and certificate over a restart, and stores no key in plain text', () =>
    withFolder(async (folder) => {
      const first = await aService(folder);
      await first.service.start();
      const second = await aService(folder, first.store);
      await second.service.start();
      assert.equal(second.root(), first.root());
      assert.deepEqual(second.service.current(), first.service.current());
      assert.match(second.service.current()?.key ?? '', /BEGIN PRIVATE KEY/);
      assert.doesNotMatch(JSON.stringify(await first.store.list('')), /PRIVATE KEY/);
    }));

  it('imports certificates that an older version kept in files, and removes the files', () =>
    withFolder(async (folder) => {
      const { authority, node } = issuedCertificates;
      mkdirSync(join(folder, 'certificates'));
      const files = {
        'ca.pem': authority.certificate,
        'ca-key.pem': authority.key,
        'node.pem': node.certificate,
        'node-key.pem': node.key,
        'node-names.txt': 'localhost\n127.0.0.1\n::1\n10.1.2.3',
      };
      for (const [name, text] of Object.entries(files))
        writeFileSync(join(folder, 'certificates', name), text);
      const { service, root } = await aService(folder);
      await service.start();
      assert.equal(root(), authority.certificate);
      assert.equal(service.current()?.key, node.key);
      assert.equal(existsSync(join(folder, 'certificates')), false);
    }));

  it('generates a new node certificate under the same authority when the names change', () =>
    withFolder(async (folder) => {
      const running = await aService(folder);
      const { service, store } = running;
      await service.start();
      const before = running.root();
      const renewed = new Promise<void>((resolve) => service.onChange(resolve));
      const alternate = { hostname: 'db.example.com', ports: {} };
      await new ClusterStore(store, ownNodeId).changeSelf((node) => ({
        ...node,
        hostname: 'one.local',
        alternate,
      }));
      await renewed;
      assert.equal(running.root(), before);
      await handshake(running, 'one.local');
      await handshake(running, 'db.example.com');
      await service.stop();
    }));

  it('adds a certificate with an RSA key once another node has chosen suites that need one, and keeps it', () =>
    withFolder(async (folder) => {
      const running = await aService(folder);
      await running.service.start();
      assert.deepEqual(running.service.keyKinds(), ['ec']);
      const later = new Suites();
      later.choose({ needsRsa: true });
      running.suites.choose({ needsRsa: true });
      await eventually(() => assert.deepEqual(running.service.keyKinds(), ['ec', 'rsa']));
      await running.service.stop();
      const offered = running.service.current();
      const again = await aService(folder, running.store, later);
      await again.service.start();
      assert.deepEqual(again.service.current(), offered);
      await again.service.stop();
    }));

  it('adds an RSA certificate at a start if the suites were chosen while the node was down', () =>
    withFolder(async (folder) => {
      const first = await aService(folder);
      await first.service.start();
      await first.service.stop();
      const suites = new Suites();
      suites.choose({ needsRsa: true });
      const second = await aService(folder, first.store, suites);
      await second.service.start();
      assert.deepEqual(second.service.keyKinds(), ['ec', 'rsa']);
      await second.service.stop();
    }));

  it('has every node generate a certificate of the new authority, except those that loaded one and keep it', () =>
    withFolder(async (folder) => {
      const first = await aService(folder);
      await first.service.start();
      const others = await Promise.all(
        ['second', 'third'].map(async (id) => {
          const node = await aService(folder, first.store, new Suites(), id);
          await node.service.start();
          return node;
        }),
      );
      const [second, third] = others as [Running, Running];
      const issuerOf = ({ service }: Running) =>
        new X509Certificate(service.current()?.certificate ?? '').issuer;
      const before = issuerOf(second);
      await third.certificates.change((state) => ({
        ...state,
        nodes: {
          ...state.nodes,
          third: { ...(state.nodes['third'] as never as object), origin: 'inbox' } as never,
        },
      }));
      await first.service.regenerate({ authority: true, loaded: false });
      await eventually(() => assert.equal(issuerOf(second), issuerOf(first)));
      assert.notEqual(issuerOf(first), before);
      assert.equal(issuerOf(third), before);
      const kept = second.service.current()?.certificate;
      await first.service.regenerate({ authority: false, loaded: true });
      await eventually(() => assert.notEqual(second.service.current()?.certificate, kept));
      await eventually(() => assert.equal(issuerOf(third), issuerOf(first)));
      for (const { service } of [first, second, third]) await service.stop();
    }));

  it('removes only the certificates of nodes that left, when it stores the next certificate', () =>
    withFolder(async (folder) => {
      const { service, certificates, store, view } = await aService(folder);
      await service.start();
      const own = certificates.state.nodes[ownNodeId];
      assert.ok(own);
      // `added` is in the cluster, but not in this view yet; `again` left and was added again.
      const nodes = { [ownNodeId]: own, added: own, left: own, again: own };
      await certificates.change((state) => ({ ...state, nodes }));
      assert.deepEqual(Object.keys(certificates.state.nodes), Object.keys(nodes));
      const again = { ...view.self, uuid: 'again' };
      await new ClusterStore(store, ownNodeId).change((state) => ({
        ...state,
        left: ['left', 'again'],
        nodes: [...state.nodes, again],
      }));
      const renewed = new Promise<void>((resolve) => service.onChange(resolve));
      await new ClusterStore(store, ownNodeId).changeSelf((node) => ({ ...node, hostname: 'one.local' }));
      await renewed;
      assert.deepEqual(Object.keys(certificates.state.nodes).toSorted(), ['added', 'again', ownNodeId]);
      await service.stop();
    }));

  it('removes the certificates of nodes that left a minute later, at the first active node', () =>
    withFolder(async (folder) => {
      const { service, certificates, clock, store } = await aService(folder);
      await service.start();
      const ids = (): string[] => Object.keys(certificates.state.nodes).toSorted();
      const pass = async (ms: number): Promise<void> => {
        clock.advance(ms);
        await new Promise((resolve) => setImmediate(resolve));
      };
      const cluster = new ClusterStore(store, ownNodeId);
      const own = certificates.state.nodes[ownNodeId] ?? assert.fail('no certificate');
      await certificates.change((state) => ({ ...state, nodes: { [ownNodeId]: own, one: own, two: own } }));
      await cluster.change((state) => ({ ...state, left: ['one'] }));
      await pass(59_999);
      assert.deepEqual(ids(), [ownNodeId, 'one', 'two'].toSorted());
      await pass(1);
      assert.deepEqual(ids(), [ownNodeId, 'two'].toSorted());
      const written = store.revision();
      await pass(120_000);
      assert.equal(store.revision(), written, 'it was written again');
      // A node that has not seen that it was removed generates another certificate.
      await certificates.change((state) => ({ ...state, nodes: { ...state.nodes, one: own } }));
      await pass(60_000);
      assert.deepEqual(ids(), [ownNodeId, 'two'].toSorted());
      const first = nodeNamed('first');
      await cluster.change((state) => ({ ...state, left: ['two'], nodes: [first, ...state.nodes] }));
      await pass(120_000);
      assert.deepEqual(ids(), [ownNodeId, 'two'].toSorted(), 'another node is the first');
      await service.stop();
    }));
});
