// The calls of the commands `xdcr-setup` and `xdcr-replicate` of couchbase-cli 7.1, with the fields that it sends for each option.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installCertificate, setClientAuth } from '../support/node-certificates.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { OpensslAuthority } from '../support/openssl.ts';
import { bodyOf, hostOf, taskOf } from '../support/xdcr.ts';

const timeout = 300_000;
const args = ['--bucket', 'b'];
const references = '/pools/default/remoteClusters';

async function refused(answer: Promise<Response>): Promise<unknown> {
  const response = await answer;
  assert.equal(response.status, 400);
  return await response.json();
}

test('couchbase-cli creates, edits, lists and deletes references of each kind', { timeout }, async () => {
  using authority = new OpensslAuthority('/CN=Theirs');
  await using source = await NodeProcess.start({ args });
  await using target = await NodeProcess.start({ args });
  const post = (path: string, form: Record<string, string>) => source.request(path, 'POST', form);
  const base = { name: 'there', hostname: hostOf(target) };
  const account = { ...base, username: 'Administrator', password: 'password' };
  assert.deepEqual(await source.request(`${references}/`).then(bodyOf), []);
  await post(references, { ...account, demandEncryption: '0' }).then(bodyOf);
  const certificate = await (await target.request('/pools/default/certificate')).text();
  for (const [form, secureType] of [
    [{ demandEncryption: '0' }, 'none'],
    [{ demandEncryption: '1', encryptionType: 'full', certificate }, 'full'],
    // The tool sends no certificate with this call, even if the command line names one.
    [{ demandEncryption: '1', encryptionType: 'half' }, 'half'],
  ] as [Record<string, string>, string][]) {
    const edited = await post(`${references}/there`, { ...account, ...form }).then(bodyOf);
    assert.equal((edited as { secureType: string }).secureType, secureType);
  }
  const [listed] = (await source.request(`${references}/`).then(bodyOf)) as Record<string, unknown>[];
  for (const field of ['name', 'uuid', 'hostname', 'username', 'uri', 'deleted'])
    assert.notEqual(listed?.[field], undefined, field);
  assert.deepEqual(await refused(post(references, account)), {
    _: 'Duplicate cluster names are not allowed',
  });
  assert.deepEqual(await refused(post(`${references}/nobody`, { ...account, name: 'nobody' })), {
    _: 'unknown remote cluster : refName - nobody',
  });
  assert.equal(await source.request(`${references}/there`, 'DELETE').then(bodyOf), 'ok');
  // --xdcr-user-certificate and --xdcr-user-key
  await installCertificate(target, authority, '/CN=target');
  const user = { password: 'receive-only', roles: 'replication_target[b]' };
  assert.equal((await target.request('/settings/rbac/users/local/receiver', 'PUT', user)).status, 200);
  await setClientAuth(target, 'enable');
  const pair = authority.issue('/CN=receiver');
  await post(references, {
    ...base,
    demandEncryption: '1',
    encryptionType: 'full',
    certificate: authority.certificate,
    clientCertificate: pair.certificate,
    clientKey: pair.key,
  }).then(bodyOf);
});

test('couchbase-cli creates, changes, pauses, resumes and deletes a replication with every option', {
  timeout,
}, async () => {
  await using source = await NodeProcess.start({ args });
  await using target = await NodeProcess.start({ args });
  const post = (path: string, form: Record<string, string>) => source.request(path, 'POST', form);
  const account = { username: 'Administrator', password: 'password' };
  const reference = { name: 'there', hostname: hostOf(target), ...account, demandEncryption: '0' };
  await post(references, reference).then(bodyOf);
  const advanced = {
    checkpointInterval: '60',
    workerBatchSize: '500',
    docBatchSizeKb: '1024',
    failureRestartInterval: '1',
    optimisticReplicationThreshold: '128',
    sourceNozzlePerNode: '1',
    targetNozzlePerNode: '1',
    networkUsageLimit: '100',
    compressionType: 'Auto',
    logLevel: 'Debug',
    statsInterval: '500',
  };
  const selecting = {
    filterExpression: 'REGEXP_CONTAINS(META().id, "^a")',
    priority: 'Medium',
    filterBypassExpiry: 'true',
    filterDeletion: 'true',
    filterExpiration: 'true',
  };
  const create = (form: Record<string, string>) =>
    post('/controller/createReplication', {
      replicationType: 'continuous',
      toBucket: 'b',
      toCluster: 'there',
      fromBucket: 'b',
      ...form,
    });
  await create({ ...advanced, ...selecting }).then(bodyOf);
  assert.deepEqual(await refused(create({})), {
    errors: { _: 'Replication to the same remote cluster and bucket already exists' },
  });
  await eventually(async () => assert.equal((await taskOf(source)).status, 'running'));
  const { id } = await taskOf(source);
  const path = `/settings/replications/${encodeURIComponent(id)}`;
  const before = (await source.request(path).then(bodyOf)) as Record<string, unknown>;
  for (const [name, value] of Object.entries({ ...advanced, ...selecting }))
    assert.equal(String(before[name]), value, name);
  // `--settings` sends filterSkipRestream always, with or without an expression.
  for (const form of [
    { ...advanced, compressionType: 'None', logLevel: 'Trace', filterSkipRestream: '0' },
    { filterSkipRestream: '0', priority: 'Low', filterBypassExpiry: 'false' },
    { filterDeletion: 'false', filterExpiration: 'false', filterSkipRestream: '0' },
    { filterExpression: 'EXISTS(a)', filterSkipRestream: '1' },
    {
      collectionsExplicitMapping: 'true',
      colMappingRules: '{"_default":"_default"}',
      filterSkipRestream: '0',
    },
    {
      collectionsExplicitMapping: 'false',
      collectionsMigrationMode: 'true',
      filterSkipRestream: '0',
      colMappingRules: '{"EXISTS(a)":"_default._default"}',
    },
  ] as Record<string, string>[])
    await post(path, form).then(bodyOf);
  assert.deepEqual(await refused(post(path, { workerBatchSize: '1', filterSkipRestream: '0' })), {
    workerBatchSize: 'The value must be an integer between 10 and 10000',
  });
  for (const [pauseRequested, status] of [
    ['true', 'paused'],
    ['false', 'running'],
  ] as const) {
    await post(path, { pauseRequested }).then(bodyOf);
    await eventually(async () => assert.equal((await taskOf(source)).status, status));
  }
  const cancel = () => source.request(`/controller/cancelXDCR/${encodeURIComponent(id)}`, 'DELETE');
  assert.deepEqual(await cancel().then(bodyOf), []);
  assert.deepEqual(await refused(cancel()), { errors: { _: 'requested resource not found' } });
});
