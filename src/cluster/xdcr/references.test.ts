import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { eventually } from '../../../test/support/node-process.ts';
import {
  aNodeWithTarget,
  replicationId as id,
  reference,
  referencesPath,
  replication,
} from '../../../test/support/xdcr-manager.ts';
import { aTarget, targetUuid } from '../../../test/support/xdcr-target.ts';

test('the node stores a reference to a cluster that answers, and never shows its password', async () => {
  const { post, request } = await aNodeWithTarget();
  const created = await post(referencesPath, { ...reference, hostname: 'far' });
  assert.deepEqual(
    [created.status, created.body],
    [
      200,
      {
        uuid: targetUuid,
        name: 'there',
        uri: `${referencesPath}/there`,
        validateURI: `${referencesPath}/there?just_validate=1`,
        hostname: 'far:8091',
        username: 'u',
        secureType: 'none',
        deleted: false,
      },
    ],
  );
  await eventually(async () =>
    assert.deepEqual((await request(referencesPath)).body, [
      { ...created.body, connectivityStatus: 'RC_OK' },
    ]),
  );
  const edited = await post(`${referencesPath}/there`, { ...reference, name: 'renamed' });
  assert.equal(edited.body.name, 'renamed');
  const removed = await request(`${referencesPath}/renamed`, { method: 'DELETE' });
  assert.deepEqual([removed.status, removed.body], [200, 'ok']);
  assert.deepEqual((await request(referencesPath)).body, []);
});

test('the node validates a reference without storing it', async () => {
  const { post, request } = await aNodeWithTarget();
  const answer = await post(`${referencesPath}?just_validate=1`, reference);
  assert.deepEqual([answer.status, answer.body], [200, []]);
  assert.deepEqual((await request(referencesPath)).body, []);
});

test('the node refuses each wrong field of a reference, and names it', async () => {
  const { post } = await aNodeWithTarget();
  for (const [fields, key, text] of [
    [{ name: '' }, 'name', /missing/],
    [{ name: 'a b' }, 'name', /alpha-numeric/],
    [{ hostname: '' }, 'hostname', /missing/],
    [{ hostname: '::1' }, 'hostname', /square brackets/],
    [{ hostname: 'far:0' }, 'hostname', /65535/],
    [{ username: '' }, 'username', /must be given/],
    [{ password: '' }, 'password', /must be given/],
    [{ certificate: 'x' }, 'certificate', /cannot be given/],
    [{ demandEncryption: '1' }, 'certificate', /must be given/],
    [{ demandEncryption: '', encryptionType: 'x' }, 'encryptionType', /invalid value/],
    [{ secureType: 'half' }, '_', /^The cluster at far:8091 does not show the certificate of its authority/],
    [{ secureType: 'half', certificate: 'x', username: '' }, 'username', /must be given when .* not full/],
    [
      { secureType: 'half', certificate: 'x', clientKey: 'x' },
      'clientKey',
      /cannot be given when .* not full/,
    ],
    [{ secureType: 'x' }, 'secureType', /Invalid value/],
    [{ clientCertificate: 'x' }, 'clientCertificate', /cannot be given/],
    [{ clientKey: 'x' }, 'clientKey', /cannot be given/],
    [{ network_type: 'x' }, 'network_type', /invalid/],
    [{ stage: 'true' }, 'stage', /not available/],
  ] as const) {
    const answer = await post(referencesPath, { ...reference, ...fields });
    assert.equal(answer.status, 400, JSON.stringify(fields));
    assert.match(String(answer.body[key]), text, JSON.stringify([fields, answer.body]));
  }
});

test('a fully secure reference has either an account or a client certificate with its key', async () => {
  const { post } = await aNodeWithTarget();
  const [mine, others] = [await makeCertificate(), await makeCertificate()];
  const none = { username: '', password: '' };
  const certificates = { clientCertificate: mine.certificate, clientKey: mine.key };
  for (const [fields, key, text] of [
    [none, '_', /^either username or client certificate must be given when secure type is full$/],
    [certificates, '_', /^username and client certificate cannot both be given when secure type is full$/],
    [{ password: '' }, 'password', /^password must be given when username is specified$/],
    [{ clientKey: mine.key }, 'clientKey', /^client key cannot be given without a client certificate$/],
    [{ ...none, clientCertificate: mine.certificate }, 'clientKey', /^client key must be given when/],
    [
      { ...none, ...certificates, clientCertificate: 'x' },
      'clientCertificate',
      /must be a certificate in PEM$/,
    ],
    [{ ...none, ...certificates, clientKey: 'x' }, 'clientKey', /must be an unencrypted private key in PEM$/],
    [{ ...none, ...certificates, clientKey: others.key }, 'clientKey', /is not the key of the client cert/],
  ] as const) {
    const form = { ...reference, secureType: 'full', certificate: 'pem', ...fields };
    const answer = await post(referencesPath, form);
    assert.equal(answer.status, 400, JSON.stringify(fields));
    assert.match(String(answer.body[key]), text, JSON.stringify([fields, answer.body]));
  }
});

test('the node refuses a reference with the reason why its cluster cannot be used', async () => {
  const failing = (code: string) => ({ fails: Object.assign(new Error(code), { code }) });
  for (const [target, text] of [
    [failing('ECONNREFUSED'), /^Could not connect to "far" on port 8091\. This could be due to/],
    [failing('ENOTFOUND'), /^Failed to resolve address for "far"/],
    [{ password: 'other' }, /^Authentication failed\. Verify username and password\. Got HTTP status 401/],
    [{ uuid: '' }, /^Could not get uuid of remote cluster/],
  ] as const) {
    const { post } = await aNodeWithTarget(target);
    const answer = await post(referencesPath, reference);
    assert.equal(answer.status, 400);
    assert.match(answer.body._, text);
  }
});

test('the node refuses a duplicate name or cluster, an edit that leads to another cluster, and an unknown name', async () => {
  const { post, current, request } = await aNodeWithTarget();
  await post(referencesPath, reference);
  const text = async (path: string, form: Record<string, string>) => (await post(path, form)).body._;
  assert.equal(await text(referencesPath, reference), 'Duplicate cluster names are not allowed');
  assert.match(
    await text(referencesPath, { ...reference, name: 'x' }),
    /already exists under the name `there`/,
  );
  current.target = { uuid: 'e'.repeat(32) };
  assert.match(await text(`${referencesPath}/there`, reference), /points to a different remote cluster/);
  assert.match(await text(`${referencesPath}/x`, reference), /^unknown remote cluster : refName - x$/);
  const gone = await request(`${referencesPath}/x`, { method: 'DELETE' });
  assert.deepEqual([gone.status, gone.body._], [400, 'unknown remote cluster : refName - x']);
  assert.equal((await request(referencesPath, { method: 'DELETE' })).status, 405);
});

test('the node refuses to delete a reference in use, and to flush a bucket that is replicated', async () => {
  const { post, request } = await aNodeWithTarget();
  await post('/pools/default/buckets/b', { flushEnabled: '1' });
  await post(referencesPath, reference);
  await post('/controller/createReplication', replication);
  const removed = await request(`${referencesPath}/there`, { method: 'DELETE' });
  assert.equal(
    removed.body._,
    `Cannot delete remote cluster \`there\` since it is referenced by replications [${id}]`,
  );
  const flushed = await post('/pools/default/buckets/b/controller/doFlush', {});
  assert.deepEqual([flushed.status, flushed.body], [503, { _: 'Cannot flush buckets with outgoing XDCR' }]);
});

test('the node deletes a reference whose only replications are of deleted buckets, with those replications', async () => {
  const { post, request } = await aNodeWithTarget();
  await post(referencesPath, reference);
  await post('/controller/createReplication', replication);
  await request('/pools/default/buckets/b', { method: 'DELETE' });
  assert.equal((await request(`${referencesPath}/there`, { method: 'DELETE' })).status, 200);
  await post('/pools/default/buckets', { name: 'b', ramQuotaMB: '100' });
  await post(referencesPath, reference);
  const created = await post('/controller/createReplication', replication);
  assert.deepEqual([created.status, created.body], [200, { id }]);
});

test('the node refuses strict encryption while a reference is not fully secure, and names it', async () => {
  const { post, request } = await aNodeWithTarget();
  await post('/settings/autoFailover', { enabled: 'false' });
  await post('/node/controller/enableExternalListener', { nodeEncryption: 'on' });
  await post('/node/controller/setupNetConfig', { nodeEncryption: 'on' });
  const level = (clusterEncryptionLevel: string) => post('/settings/security', { clusterEncryptionLevel });
  await post(referencesPath, reference);
  const refused = await level('strict');
  assert.equal(refused.status, 400);
  assert.match(
    refused.body.errors[0],
    /^clusterEncryptionLevel - .* references `there` do not use full encryption/,
  );
  assert.equal((await request('/settings/security')).body.clusterEncryptionLevel, 'control');
  assert.equal((await level('all')).status, 200);
  const secured = await post(`${referencesPath}/there`, {
    ...reference,
    secureType: 'full',
    certificate: 'pem',
  });
  assert.equal(secured.status, 200);
  assert.equal((await level('strict')).status, 200);
  const weakened = await post(`${referencesPath}/there`, reference);
  assert.match(weakened.body._, /must use full encryption/);
});

test('no replication is stored to a cluster whose reference was removed while the target was asked', async () => {
  let removes = false;
  const node = await aNodeWithTarget(
    {},
    {
      callTarget: async (...call) => {
        if (removes && call[2].startsWith('/pools/default/buckets/'))
          await node.request(`${referencesPath}/there`, { method: 'DELETE' });
        return aTarget({})(...call);
      },
    },
  );
  await node.post(referencesPath, reference);
  removes = true;
  const { status, body } = await node.post('/controller/createReplication', replication);
  assert.equal(status, 400);
  assert.match(body.errors.toCluster, /unknown remote cluster/);
  assert.deepEqual((await node.request('/pools/default/replications')).body, []);
});
