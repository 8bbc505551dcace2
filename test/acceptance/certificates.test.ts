// Certificates of an operator on a real node, which are installed without closing connections and kept after kill -9; and client
// certificates.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { CertificateAuthenticator } from 'couchbase';
import { portNumber } from '../support/addresses.ts';
import { noOperation } from '../support/admission.ts';
import { installCertificate, setClientAuth } from '../support/node-certificates.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { OpensslAuthority, type Pair } from '../support/openssl.ts';
import { connect } from '../support/sdk.ts';

const login = `${administrator.username}:${administrator.password}`;

async function handshake(port: number, options: { ca: string; pair?: Pair }): Promise<TLSSocket> {
  const { ca, pair } = options;
  const socket = connectTls({
    host: '127.0.0.1',
    port,
    ca,
    servername: 'localhost',
    ...(pair && { cert: pair.certificate, key: pair.key }),
  });
  await once(socket, 'secureConnect');
  return socket;
}

async function subjectAt(port: number, ca: string): Promise<string | undefined> {
  const socket = await handshake(port, { ca });
  const subject = socket.getPeerX509Certificate()?.subject;
  socket.destroy();
  return subject;
}

interface Reply {
  status: number;
  body: string;
}

/** A request over TLS, with a certificate or a password or neither. */
function ask(
  node: NodeProcess,
  path: string,
  options: { ca: string; pair?: Pair | undefined; auth?: string; agent?: Agent },
): Promise<Reply> {
  const { ca, pair, auth, agent } = options;
  return new Promise((resolve, reject) => {
    const sent = request(`${node.ready.node.restTls}${path}`, {
      ca,
      servername: 'localhost',
      agent: agent ?? false,
      ...(pair && { cert: pair.certificate, key: pair.key }),
      ...(auth !== undefined && { auth }),
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    sent.end();
  });
}

/** Writes a file into the folder of the authority, which removes the folder at its end. */
function fileOf(authority: OpensslAuthority, name: string, contents: string): string {
  const path = join(authority.folder, name);
  writeFileSync(path, contents);
  return path;
}

describe('certificates of a node', () => {
  it('are replaced on every TLS port while connections stay open, and are kept after kill -9', async () => {
    using authority = new OpensslAuthority('/CN=Own root');
    await using node = await NodeProcess.start();
    const generated = await (await node.request('/pools/default/certificate')).text();
    const keptOpen = new Agent({ keepAlive: true, maxSockets: 1 });
    const before = await ask(node, '/pools', { ca: generated, auth: login, agent: keptOpen });
    assert.equal(before.status, 200);
    const data = await handshake(portNumber(node.ready.node.kvTls), { ca: generated });
    await installCertificate(node, authority, '/CN=one');
    const ca = authority.certificate;
    const tlsAddresses = Object.entries(node.ready.node).filter(([name]) => name.endsWith('Tls'));
    assert.ok(tlsAddresses.length >= 4);
    await eventually(async () => {
      for (const [name, address] of tlsAddresses)
        assert.equal(await subjectAt(portNumber(address), ca), 'CN=one', name);
    });
    // The agent's connection was opened with the previous certificate and still has it.
    const during = await ask(node, '/pools', { ca: generated, auth: login, agent: keptOpen });
    assert.equal(during.status, 200);
    // The data port answers a NOOP (0x0a) on the earlier connection.
    data.write(noOperation);
    const [answer] = (await once(data, 'data')) as [Buffer];
    assert.equal(answer[1], 0x0a);
    data.destroy();
    keptOpen.destroy();
    await node.stop('SIGKILL');
    await using restarted = await NodeProcess.start({ dataDir: node.dataDir });
    assert.equal(await subjectAt(portNumber(restarted.ready.node.kvTls), ca), 'CN=one');
    const shown = (await (await restarted.request('/pools/default/certificates')).json()) as {
      subject: string;
    }[];
    assert.deepEqual(
      shown.map(({ subject }) => subject),
      ['CN=one'],
    );
  });
});

describe('client certificates', () => {
  it('name the user of REST requests, within that user’s roles', async () => {
    using authority = new OpensslAuthority('/CN=Own root');
    using stranger = new OpensslAuthority('/CN=Stranger');
    await using node = await NodeProcess.start();
    const user = { password: 'secret1', roles: 'ro_admin' };
    await node.request('/settings/rbac/users/local/reader', 'PUT', user);
    await installCertificate(node, authority, '/CN=one');
    const ca = authority.certificate;
    const reader = authority.issue('/CN=reader@example.com');
    const nobody = authority.issue('/CN=nobody');
    const forged = stranger.issue('/CN=reader');
    const expired = authority.issue('/CN=reader', { fromDays: -9, toDays: -1 });
    const get = (pair?: Pair, auth?: string, path = '/whoami') =>
      ask(node, path, { ca, pair, ...(auth !== undefined && { auth }) });
    const whoAmI = async (pair?: Pair, auth?: string) => {
      const { status, body } = await get(pair, auth);
      return status === 200 ? (JSON.parse(body) as { id: string }).id : status;
    };
    await eventually(async () => assert.equal((await get(undefined, 'reader:secret1')).status, 200));
    assert.equal(await whoAmI(reader), '', 'certificates are ignored until they are enabled');
    await setClientAuth(node, 'enable');
    await eventually(async () => assert.equal(await whoAmI(reader), 'reader'));
    assert.equal((await get(reader, undefined, '/settings/web')).status, 200);
    assert.equal((await get(reader, undefined, '/internalSettings')).status, 403);
    assert.equal(await whoAmI(undefined, login), 'Administrator');
    assert.equal(await whoAmI(nobody, login), 'Administrator');
    for (const bad of [forged, expired]) await assert.rejects(get(bad, login));
    await setClientAuth(node, 'mandatory');
    await eventually(async () => assert.rejects(get(undefined, login)));
    assert.equal(await whoAmI(reader), 'reader');
    assert.equal(await whoAmI(nobody, login), 401);
    await node.request('/settings/rbac/users/local/reader', 'DELETE');
    assert.equal(await whoAmI(reader), 401);
    await setClientAuth(node, 'disable');
    await eventually(async () => assert.equal(await whoAmI(undefined, login), 'Administrator'));
  });

  it('log in external users without a local password over REST and at the data port', {
    timeout: 600_000,
  }, async () => {
    using authority = new OpensslAuthority('/CN=Own root');
    await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    const put = (roles: string) => node.request('/settings/rbac/users/external/outside', 'PUT', { roles });
    assert.equal((await put('ro_admin,data_writer[b],data_reader[b]')).status, 200);
    await installCertificate(node, authority, '/CN=one');
    await setClientAuth(node, 'mandatory');
    const ca = authority.certificate;
    const pair = authority.issue('/CN=outside@example.com');
    const whoAmI = async () => {
      const { status, body } = await ask(node, '/whoami', { ca, pair });
      const { id, domain } = status === 200 ? (JSON.parse(body) as Record<string, string>) : {};
      return [status, id, domain];
    };
    await eventually(async () => assert.deepEqual(await whoAmI(), [200, 'outside', 'external']));
    assert.equal((await ask(node, '/settings/web', { ca, pair })).status, 200);
    assert.equal((await ask(node, '/internalSettings', { ca, pair })).status, 403);
    const authenticator = new CertificateAuthenticator(
      fileOf(authority, 'client.pem', pair.certificate),
      fileOf(authority, 'client.key', pair.key),
    );
    const security = { trustStorePath: fileOf(authority, 'trust.pem', ca) };
    const address = `couchbases://127.0.0.1:${portNumber(node.ready.node.kvTls)}`;
    const cluster = await connect(address, { authenticator, security });
    const documents = cluster.bucket('b').defaultCollection();
    await documents.upsert('k', { by: 'outside' });
    assert.deepEqual((await documents.get('k')).content, { by: 'outside' });
    assert.equal((await put('ro_admin,data_reader[b]')).status, 200);
    await eventually(() => assert.rejects(documents.upsert('k', { by: 'again' })));
    await cluster.close();
    assert.equal((await node.request('/settings/rbac/users/external/outside', 'DELETE')).status, 200);
    assert.equal((await whoAmI())[0], 401);
  });

  it('log the official SDK in at the data port, whose TLS connections need one', {
    timeout: 600_000,
  }, async () => {
    using authority = new OpensslAuthority('/CN=Own root');
    await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    const user = { password: 'secret1', roles: 'bucket_full_access[b]' };
    await node.request('/settings/rbac/users/local/writer', 'PUT', user);
    await installCertificate(node, authority, '/CN=one');
    await setClientAuth(node, 'mandatory', 'san.email');
    const pair = authority.issue('/CN=x', { names: 'email:writer@example.com' });
    const trustStorePath = fileOf(authority, 'trust.pem', authority.certificate);
    const certificates = new CertificateAuthenticator(
      fileOf(authority, 'client.pem', pair.certificate),
      fileOf(authority, 'client.key', pair.key),
    );
    const address = `couchbases://127.0.0.1:${portNumber(node.ready.node.kvTls)}`;
    const cluster = await connect(address, { authenticator: certificates, security: { trustStorePath } });
    const documents = cluster.bucket('b').defaultCollection();
    await documents.upsert('k', { by: 'certificate' });
    assert.deepEqual((await documents.get('k')).content, { by: 'certificate' });
    await cluster.close();
    const byName = { username: 'writer', password: 'secret1' };
    const timeouts = { connectTimeout: 3_000, bootstrapTimeout: 3_000 };
    await assert.rejects(connect(address, { ...byName, security: { trustStorePath }, timeouts }));
    const plain = `couchbase://127.0.0.1:${portNumber(node.ready.node.kv)}`;
    const byPassword = await connect(plain, byName);
    assert.deepEqual((await byPassword.bucket('b').defaultCollection().get('k')).content, {
      by: 'certificate',
    });
    await byPassword.close();
  });
});
