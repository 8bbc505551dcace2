// The calls about certificates, with authorities and certificates made by openssl.
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { aManager, type ManagerOptions } from '../../../test/support/manager.ts';
import { encryptedKey, fillInbox, OpensslAuthority } from '../../../test/support/openssl.ts';
import { FolderInbox } from './inbox.adapter.ts';
import { issue } from './issue.ts';

const names = 'DNS:localhost,IP:127.0.0.1';

async function aNode(options: ManagerOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'inbox-'));
  const node = await aManager({ startMs: Date.now(), ...options, inbox: new FolderInbox(folder) });
  await node.manager.certificates.ready;
  const put = (files: Record<string, string>) => fillInbox(folder, files);
  return {
    ...node,
    folder,
    put,
    reload: (json: unknown = undefined) =>
      node.request('/node/controller/reloadCertificate', {
        method: 'POST',
        ...(json !== undefined && { raw: JSON.stringify(json) }),
      }),
    load: () => node.request('/node/controller/loadTrustedCAs', { method: 'POST' }),
    upload: (raw: string, from?: string) =>
      node.request('/controller/uploadClusterCA', { raw, ...(from && { from }) }),
    async [Symbol.asyncDispose]() {
      await node.manager.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

test('the node makes an uploaded certificate the root, and warns of a node that is not signed by it', async () => {
  await using node = await aNode();
  using authority = new OpensslAuthority('/O=Example/CN=Own root');
  const uploaded = await node.upload(authority.certificate);
  assert.equal(uploaded.status, 200);
  assert.equal(uploaded.body.type, 'uploaded');
  assert.equal(uploaded.body.subject, 'O=Example, CN=Own root');
  assert.equal(uploaded.body.cert.pem.trim(), authority.certificate.trim());
  const mismatch = uploaded.body.warnings.find(({ name }: { name: string }) => name === 'mismatch');
  assert.deepEqual(mismatch, {
    node: '127.0.0.1:8091',
    name: 'mismatch',
    message: 'Certificate is not signed with cluster CA.',
    severity: 2,
    severityName: 'minimal',
  });
  const root = await node.request('/pools/default/certificate');
  assert.equal(root.text.trim(), authority.certificate.trim());
  const extended = await node.request('/pools/default/certificate?extended=true');
  assert.deepEqual(extended.body, uploaded.body);
});

test('the node refuses anything but a certificate of an authority, with the reason', async () => {
  await using node = await aNode();
  using authority = new OpensslAuthority();
  using other = new OpensslAuthority('/CN=Other');
  using expired = new OpensslAuthority('/CN=Late', { fromDays: -30, toDays: -1 });
  using early = new OpensslAuthority('/CN=Early', { fromDays: 1 });
  const { key } = authority;
  const encrypted = authority.certificate.replace('-----\n', '-----\nProc-Type: 4,ENCRYPTED\n\n');
  const cases: [string, string][] = [
    ['', 'Certificate should not be empty'],
    ['hello', 'Malformed certificate'],
    [authority.certificate.replace(/[A-Za-z]{9}/, 'AAAAAAAAA'), 'Malformed certificate'],
    [authority.certificate.slice(0, 200), 'Malformed certificate'],
    [key, 'Invalid certificate type: PrivateKeyInfo'],
    [encrypted, 'Encrypted certificates are not supported.'],
    [authority.certificate + other.certificate, 'Only one certificate per request is allowed.'],
    [expired.certificate, 'Certificate is not valid at this time'],
    [early.certificate, 'Certificate is not valid at this time'],
  ];
  for (const [text, error] of cases) {
    const { status, body } = await node.upload(text);
    assert.deepEqual([status, body], [400, { error }]);
  }
  assert.equal((await node.upload(authority.certificate)).status, 200);
  const again = await node.upload(authority.certificate);
  assert.deepEqual([again.status, again.body], [400, { error: 'This certificate is already in use' }]);
});

test('the node accepts a root from this machine only, until a call from this machine allows others', async () => {
  await using node = await aNode();
  using authority = new OpensslAuthority();
  const from = '192.0.2.7';
  const setting = '/settings/security/allowNonLocalCACertUpload';
  const refused = await node.upload(authority.certificate, from);
  assert.equal(refused.status, 400);
  assert.match(
    refused.text,
    /^API is accessible from localhost only \(this behavior can be changed by means of POST \/settings/,
  );
  assert.equal((await node.request(setting)).body, false);
  const remote = await node.request(setting, { raw: 'true', from });
  assert.deepEqual([remote.status, remote.text], [400, 'API is accessible from localhost only']);
  const wrong = await node.request(setting, { raw: 'yes' });
  assert.deepEqual(wrong.body, {
    errors: ["allowNonLocalCACertUpload - Accepted values are 'true' and 'false'."],
  });
  const allowed = await node.request(setting, { raw: 'true' });
  assert.deepEqual([allowed.status, allowed.body], [200, []]);
  assert.equal((await node.request(setting)).body, true);
  assert.equal((await node.request('/settings/security')).body.allowNonLocalCACertUpload, true);
  assert.equal((await node.upload(authority.certificate, from)).status, 200);
});

test('the node loads all authorities of the inbox or none, and shows no single root from then on', async () => {
  await using node = await aNode();
  using authority = new OpensslAuthority('/CN=One');
  using two = new OpensslAuthority('/CN=Two', { toDays: 10 });
  const empty = await node.load();
  assert.deepEqual([empty.status, empty.body], [400, `Directory ${node.folder}/CA is empty`]);
  node.put({ 'CA/one.pem': authority.certificate, 'CA/two.pem': 'nothing' });
  const broken = await node.load();
  const path = `${node.folder}/CA/two.pem`;
  assert.deepEqual(broken.body, `Couldn't load CA certificate from ${path}. Malformed certificate`);
  assert.equal((await node.request('/pools/default/trustedCAs')).body.length, 1);
  node.put({ 'CA/two.pem': two.certificate });
  const loaded = await node.load();
  assert.equal(loaded.status, 200);
  assert.deepEqual(
    loaded.body.map(({ subject, type, loadFile }: Record<string, string>) => [subject, type, loadFile]),
    [
      ['CN=One', 'uploaded', `${node.folder}/CA/one.pem`],
      ['CN=Two', 'uploaded', path],
    ],
  );
  assert.deepEqual(
    loaded.body[1].warnings.map(({ name, severity }: Record<string, unknown>) => [name, severity]),
    [['expires_soon', 3]],
  );
  assert.deepEqual((await node.load()).body, []);
  for (const query of ['', '?extended=true']) {
    const root = await node.request(`/pools/default/certificate${query}`);
    assert.equal(root.status, 400);
    assert.match(root.text, /GET \/pools\/default\/trustedCAs/);
  }
  const pool = await node.request('/pools/default');
  const { msg } = pool.body.alerts[0];
  assert.match(msg, /^Root certificate 2 \(CN=Two\) will expire at /);
  node.clock.advance(24 * 3_600_000);
  const { list } = (await node.request('/logs')).body;
  const warnings = list.filter(({ module }: { module: string }) => module === 'cert_manager');
  assert.deepEqual(
    warnings.map(({ type, text }: Record<string, string>) => [type, text]),
    [['warning', msg]],
  );
});

test('the node shows no single root once two were uploaded', async () => {
  await using node = await aNode();
  using authority = new OpensslAuthority('/CN=One');
  using two = new OpensslAuthority('/CN=Two');
  await node.upload(authority.certificate);
  await node.upload(two.certificate);
  assert.equal((await node.request('/pools/default/certificate')).status, 400);
});

test('the node warns of the generated authority once no node uses it', async () => {
  await using node = await aNode();
  using root = new OpensslAuthority('/CN=Root');
  const { certificate, key } = root.issue('/CN=node one', { names });
  const warningNames = async () =>
    (await node.request('/pools/default/trustedCAs')).body.map(
      ({ warnings }: { warnings: { name: string }[] }) => warnings.map(({ name }) => name),
    );
  assert.deepEqual(await warningNames(), [[]]);
  node.put({ 'CA/root.pem': root.certificate, 'chain.pem': certificate, 'pkey.key': key });
  await node.load();
  assert.equal((await node.reload()).status, 200);
  assert.deepEqual(await warningNames(), [['unused'], []]);
});

test('the node shows only public fields of authorities to callers without security permissions', async () => {
  await using node = await aNode();
  const full = (await node.request('/pools/default/trustedCAs')).body;
  assert.deepEqual(full[0].nodes, ['127.0.0.1:8091']);
  assert.equal(full[0].type, 'generated');
  const [seen] = (await node.request('/pools/default/trustedCAs', { as: null })).body;
  assert.deepEqual(Object.keys(seen).sort(), ['id', 'notAfter', 'notBefore', 'pem', 'subject']);
});

test('the node removes an authority that no node uses', async () => {
  await using node = await aNode();
  using authority = new OpensslAuthority();
  node.put({ 'CA/one.pem': authority.certificate });
  await node.load();
  const remove = (id: string) => node.request(`/pools/default/trustedCAs/${id}`, { method: 'DELETE' });
  assert.deepEqual((await remove('0')).body, {
    errors: { _: 'The CA certificate is in use by the following nodes: 127.0.0.1' },
  });
  for (const id of ['7', 'x', '-1']) {
    const { status, text } = await remove(id);
    assert.deepEqual([status, text], [404, 'Not found']);
  }
  assert.equal((await remove('1')).status, 204);
  assert.equal((await node.request('/pools/default/certificate')).status, 200);
});

test('activates a chain and key of the inbox', async () => {
  await using node = await aNode();
  using root = new OpensslAuthority('/CN=Root');
  using middle = new OpensslAuthority('/CN=Middle', { issuer: root });
  const { certificate, key } = middle.issue('/CN=node one', { names });
  node.put({
    'CA/root.pem': root.certificate,
    'chain.pem': certificate + middle.certificate,
    'pkey.key': key,
  });
  await node.load();
  const reloaded = await node.reload();
  assert.deepEqual([reloaded.status, reloaded.text], [200, '']);
  const [listed] = (await node.request('/pools/default/certificates')).body;
  assert.equal(listed.node, '127.0.0.1:8091');
  assert.equal(listed.subject, 'CN=node one');
  assert.equal(listed.type, 'uploaded');
  assert.deepEqual(listed.warnings, []);
  const ofNode = (await node.request('/pools/default/certificate/node/127.0.0.1%3A8091')).body;
  assert.deepEqual({ node: listed.node, ...ofNode }, listed);
  const tls = node.manager.tls.current();
  assert.ok(createPrivateKey(tls?.key ?? '').equals(createPrivateKey(key)));
  assert.equal(tls?.certificate.match(/BEGIN CERTIFICATE/g)?.length, 2);
});

test('the node refuses an invalid chain or key, and keeps the certificate in use', async () => {
  await using node = await aNode();
  using root = new OpensslAuthority('/CN=Root');
  using foreignAuthority = new OpensslAuthority('/CN=Foreign');
  const { certificate, key } = root.issue('/CN=node', { names });
  const other = root.issue('/CN=other', { names });
  const past = root.issue('/CN=past', { names, fromDays: -9, toDays: -2 });
  const before = node.manager.tls.current();
  const file = (name: string) => `${node.folder}/${name}`;
  assert.equal(
    (await node.reload()).body,
    `Unable to read certificate chain file ${file('chain.pem')}. The file does not exist.`,
  );
  node.put({ 'CA/root.pem': root.certificate, 'chain.pem': certificate });
  assert.equal(
    (await node.reload()).body,
    `Unable to read private key file ${file('pkey.key')}. The file does not exist.`,
  );
  await node.load();
  const foreign = foreignAuthority.issue('/CN=node', { names });
  const wrongChain = 'Incorrectly configured certificate chain. ';
  const cases: [string, string, string][] = [
    [certificate, other.key, "Provided certificate doesn't match provided private key"],
    [certificate, 'none', 'Malformed or unsupported private key format'],
    [certificate, key + other.key, 'Provided private key contains incorrect number of entries'],
    [certificate, certificate, 'Invalid private key type: CERTIFICATE.'],
    [certificate, encryptedKey(key, 'open'), 'Failed to decrypt provided private key. Check password'],
    ['none', key, `${wrongChain}Malformed certificate`],
    [key, key, `${wrongChain}Invalid certificate type: PrivateKeyInfo`],
    [past.certificate, past.key, `${wrongChain}Error: cert_expired. Certificate: "CN=past"`],
    [
      foreign.certificate,
      foreign.key,
      "CA certificate for this chain is not found in the list of trusted CA's",
    ],
    [
      certificate + foreignAuthority.certificate,
      key,
      'Certificate "CN=node" is not issued by the next certificate in chain "CN=Foreign"',
    ],
  ];
  for (const [chain, pkey, text] of cases) {
    node.put({ 'chain.pem': chain, 'pkey.key': pkey });
    const { status, body } = await node.reload();
    assert.deepEqual([status, body], [400, text]);
  }
  assert.deepEqual(node.manager.tls.current(), before);
});

test('the node opens an encrypted key with the passphrase of the request, and never shows it', async () => {
  await using node = await aNode();
  using root = new OpensslAuthority('/CN=Root');
  const { certificate, key } = root.issue('/CN=node', { names });
  const secret = `s3cret-${realRandom.bytes(6).toString('hex')}`;
  node.put({
    'CA/root.pem': root.certificate,
    'chain.pem': certificate,
    'pkey.key': encryptedKey(key, secret),
  });
  await node.load();
  const privateKeyPassphrase = { type: 'plain', password: secret };
  assert.equal((await node.reload({ privateKeyPassphrase: { type: 'plain', password: 'x' } })).status, 400);
  assert.equal((await node.reload({ privateKeyPassphrase })).status, 200);
  const listed = await node.request('/pools/default/certificates');
  assert.deepEqual(listed.body[0].privateKeyPassphrase, { type: 'plain', password: '********' });
  assert.doesNotMatch(listed.text + JSON.stringify(await node.store.list('')), new RegExp(secret));
});

test('the node names the problem of a passphrase source', async () => {
  await using node = await aNode();
  const reloadBody = (privateKeyPassphrase: unknown) => ({ privateKeyPassphrase });
  const cases: [unknown, string, string][] = [
    [{ other: 1 }, 'other', 'Unsupported key'],
    [reloadBody({}), 'privateKeyPassphrase.type', 'The value must be supplied'],
    [
      reloadBody({ type: 'x' }),
      'privateKeyPassphrase.type',
      'The value must be one of the following: [script,rest,plain]',
    ],
    [reloadBody({ type: 'plain' }), 'privateKeyPassphrase.password', 'The value must be supplied'],
    [
      reloadBody({ type: 'plain', password: 1 }),
      'privateKeyPassphrase.password',
      'Password must be a string',
    ],
    [reloadBody({ type: 'script' }), 'privateKeyPassphrase.path', 'The value must be supplied'],
    [reloadBody({ type: 'rest', url: 'ftp://x' }), 'privateKeyPassphrase.url', 'Invalid url'],
    [
      reloadBody({ type: 'rest', url: 'http://x', timeout: 0 }),
      'privateKeyPassphrase.timeout',
      'The value must be in range from 1 to 60000',
    ],
    [
      reloadBody({ type: 'rest', url: 'http://x', addressFamily: 'ipv6' }),
      'privateKeyPassphrase.addressFamily',
      'The value must be one of the following: [inet,inet6]',
    ],
  ];
  for (const [json, name, text] of cases) {
    const { status, body } = await node.reload(json);
    assert.deepEqual([status, body], [400, { errors: { [name]: text } }]);
  }
});

test('the node generates new certificates on request, and replaces loaded ones by default', async () => {
  await using node = await aNode({ issue });
  using root = new OpensslAuthority('/CN=Root');
  const { certificate, key } = root.issue('/CN=node', { names });
  node.put({ 'CA/root.pem': root.certificate, 'chain.pem': certificate, 'pkey.key': key });
  await node.load();
  await node.reload();
  const loaded = node.manager.tls.current();
  const path = '/controller/regenerateCertificate';
  const regenerated = await node.request(`${path}?dropUploadedCertificates=false`, { method: 'POST' });
  assert.match(regenerated.text, /^-----BEGIN CERTIFICATE-----/);
  assert.deepEqual(node.manager.tls.current(), loaded);
  assert.equal((await node.request(path, { method: 'POST' })).status, 200);
  assert.notEqual(node.manager.tls.current()?.certificate, loaded?.certificate);
  assert.equal((await node.request('/pools/default/certificates')).body[0].type, 'generated');
  const wrong = await node.request(`${path}?forceResetCACertificate=maybe`, { method: 'POST' });
  assert.deepEqual(wrong.body, {
    errors: { forceResetCACertificate: 'The value must be one of the following: [true,false]' },
  });
});

test('the node answers 404 for the certificate of an unknown node', async () => {
  await using node = await aNode();
  const { status, text } = await node.request('/pools/default/certificate/node/192.0.2.1%3A8091');
  assert.equal(status, 404);
  assert.match(text, /^Node is not found/);
});

test('the node refuses requests about certificates in the community edition', async () => {
  const { request, manager } = await aManager({ edition: 'community' });
  const { status, headers } = await request('/pools/default/certificates');
  assert.deepEqual([status, headers['x-enterprise-edition-needed']], [400, '1']);
  await manager.stop();
});

test('the node refuses cipher suites and certificates that would lock every client out', async () => {
  await using node = await aNode({ issue });
  using authority = new OpensslAuthority();
  const { certificate, key } = authority.issue('/CN=node', { names });
  node.put({ 'CA/own.pem': authority.certificate, 'chain.pem': certificate, 'pkey.key': key });
  assert.equal((await node.load()).status, 200);
  const choose = (suite: string) =>
    node.request('/settings/security/data', { form: { cipherSuites: JSON.stringify([suite]) } });
  const unfit = 'data.cipherSuites - None of the cipher suites works with a certificate whose key is EC';
  assert.equal(
    (await choose('TLS_RSA_WITH_AES_128_GCM_SHA256')).status,
    200,
    'a generated certificate works with all suites',
  );
  const refused = await node.reload();
  assert.deepEqual([refused.status, refused.body], [400, unfit]);
  assert.equal((await choose('TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256')).status, 200);
  assert.equal((await node.reload()).status, 200);
  const again = await choose('TLS_RSA_WITH_AES_128_GCM_SHA256');
  assert.deepEqual([again.status, again.body], [400, { errors: [unfit] }]);
  const cipherSuites = JSON.stringify(['TLS_RSA_WITH_AES_128_GCM_SHA256']);
  const forAll = await node.request('/settings/security', { form: { cipherSuites } });
  assert.deepEqual([forAll.status, forAll.body], [400, { errors: [unfit.replace('data.', '')] }]);
  assert.equal((await choose('TLS_AES_128_GCM_SHA256')).status, 200);
});
