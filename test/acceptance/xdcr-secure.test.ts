// The secure modes of references, between two real nodes: how the source logs in, and what the target shows of its connections.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { installCertificate, setClientAuth } from '../support/node-certificates.ts';
import { eventually, type NodeProcess } from '../support/node-process.ts';
import { OpensslAuthority } from '../support/openssl.ts';
import { ReplicatingPair } from '../support/replicating-pair.ts';
import { storing } from '../support/storing.ts';
import { bodyOf, clientOf, createReplication, referenceTo, taskOf, whenEqual } from '../support/xdcr.ts';

const timeout = 180_000;

const pair = ReplicatingPair.forTests();

async function store(node: NodeProcess, from: number, count: number): Promise<void> {
  const client = await clientOf(node);
  const requests = Array.from(
    { length: count },
    (_, index): StoreRequest => storing(`k${from + index}`, '{"a":1}'),
  );
  const replies = await client.storeMany(0, requests);
  client.close();
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [0]);
}

async function createReceiver(node: NodeProcess, password = 'receive-only'): Promise<void> {
  const user = { password, roles: 'replication_target[b]' };
  assert.equal((await node.request('/settings/rbac/users/local/receiver', 'PUT', user)).status, 200);
}

const refer = (from: NodeProcess, fields: Record<string, string>, path = ''): Promise<Response> =>
  from.request(`/pools/default/remoteClusters${path}`, 'POST', fields);

test('a reference of type half encrypts the password, and not the documents', { timeout }, async () => {
  const { source, target } = pair;
  await pair.createBuckets();
  await createReceiver(target);
  const certificate = await (await target.request('/pools/default/certificate')).text();
  const account = { username: 'receiver', password: 'receive-only' };
  const fields = referenceTo(target, { secureType: 'half', certificate, ...account });
  const wrong = await (await source.request('/pools/default/certificate')).text();
  assert.match(await (await refer(source, { ...fields, certificate: wrong })).text(), /is not accepted/);
  const reference = (await refer(source, fields).then(bodyOf)) as Record<string, unknown>;
  assert.deepEqual(
    [reference['secureType'], reference['demandEncryption'], reference['encryptionType']],
    ['half', true, 'half'],
  );
  await store(source, 0, 50);
  await createReplication(source);
  assert.equal((await whenEqual(source, target)).size, 50);
  // A reference without a certificate trusts the certificate that the target reports to its administrator.
  const trusting = referenceTo(target, { secureType: 'half', ...account });
  const edited = (await refer(source, trusting, '/there').then(bodyOf)) as Record<string, unknown>;
  assert.deepEqual([edited['secureType'], edited['certificate']], ['half', certificate]);
  await store(source, 50, 50);
  assert.equal((await whenEqual(source, target)).size, 100);
  await encryptBetweenNodes(source);
  const strict = await source.request('/settings/security', 'POST', { clusterEncryptionLevel: 'strict' });
  assert.match(await strict.text(), /references `there` do not use full encryption/);
});

async function encryptBetweenNodes(node: NodeProcess): Promise<void> {
  await node.request('/settings/autoFailover', 'POST', { enabled: 'false' });
  await node.request('/node/controller/enableExternalListener', 'POST', { nodeEncryption: 'on' });
  await node.request('/node/controller/setupNetConfig', 'POST', { nodeEncryption: 'on' });
}

test('by a reference of type full with a client certificate the source logs in with it at every port, and not with one that is expired or unknown', {
  timeout,
}, async () => {
  using authority = new OpensslAuthority('/CN=Theirs');
  using other = new OpensslAuthority('/CN=Another');
  const { source, target } = pair;
  await pair.createBuckets();
  await installCertificate(target, authority, '/CN=target');
  await createReceiver(target);
  await setClientAuth(target, 'enable');
  const fieldsWith = ({
    certificate: clientCertificate,
    key: clientKey,
  }: Record<'certificate' | 'key', string>) => {
    const {
      username: _,
      password: __,
      ...fields
    } = referenceTo(target, {
      secureType: 'full',
      certificate: authority.certificate,
      clientCertificate,
      clientKey,
    });
    return fields;
  };
  for (const client of [
    other.issue('/CN=receiver'),
    authority.issue('/CN=receiver', { fromDays: -3, toDays: -1 }),
    authority.issue('/CN=nobody'),
  ])
    assert.equal((await refer(source, fieldsWith(client))).status, 400);
  const client = authority.issue('/CN=receiver');
  const created = (await refer(source, fieldsWith(client)).then(bodyOf)) as Record<string, unknown>;
  assert.deepEqual([created['clientCertificate'], created['username']], [client.certificate, '']);
  assert.ok(!JSON.stringify(created).includes('PRIVATE KEY'));
  await store(source, 0, 50);
  await createReplication(source);
  assert.equal((await whenEqual(source, target)).size, 50);
  await eventually(async () => {
    const [listed] = (await source.request('/pools/default/remoteClusters').then(bodyOf)) as {
      connectivityStatus: string;
    }[];
    assert.equal(listed?.connectivityStatus, 'RC_OK');
  });
  // Nothing but certificates is accepted from now on.
  await setClientAuth(target, 'mandatory');
  await source.request((await taskOf(source)).cancelURI, 'DELETE').then(bodyOf);
  await store(source, 50, 20);
  await createReplication(source);
  await eventually(async () => {
    const { docsWritten, changesLeft, errors } = await taskOf(source);
    assert.deepEqual([changesLeft, errors, docsWritten > 0], [0, [], true]);
  });
  await setClientAuth(target, 'enable');
  // The edited reference logs in by password.
  const edited = referenceTo(target, { secureType: 'full', certificate: authority.certificate });
  const after = (await refer(source, edited, '/there').then(bodyOf)) as Record<string, unknown>;
  assert.equal(after['clientCertificate'], undefined);
  await store(source, 70, 20);
  assert.equal((await whenEqual(source, target)).size, 90);
});
