import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { aTarget, bucketOf, type Target, targetUuid } from '../../../test/support/xdcr-target.ts';

const reference = { name: 'there', hostname: 'far:8091', username: 'u', password: 'pw' };
const replication = {
  fromBucket: 'b',
  toCluster: 'there',
  toBucket: 'taken',
  replicationType: 'continuous',
};
const id = `${targetUuid}/b/taken`;

async function aNode(target: Target = {}) {
  const current = { target };
  const manager = await aManager({
    callTarget: (...call) => aTarget(current.target)(...call),
  });
  await manager.request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
  const post = (path: string, form: Record<string, string>, as?: string) =>
    manager.request(path, { method: 'POST', form, ...(as !== undefined && { as }) });
  return { ...manager, current, post };
}

const refsPath = '/pools/default/remoteClusters';

test('stores a reference to a cluster that answers, and never shows its password', async () => {
  const { post, request } = await aNode();
  const created = await post(refsPath, { ...reference, hostname: 'far' });
  assert.deepEqual(
    [created.status, created.body],
    [
      200,
      {
        uuid: targetUuid,
        name: 'there',
        uri: `${refsPath}/there`,
        validateURI: `${refsPath}/there?just_validate=1`,
        hostname: 'far:8091',
        username: 'u',
        secureType: 'none',
        deleted: false,
      },
    ],
  );
  await eventually(async () =>
    assert.deepEqual((await request(refsPath)).body, [{ ...created.body, connectivityStatus: 'RC_OK' }]),
  );
  const edited = await post(`${refsPath}/there`, { ...reference, name: 'renamed' });
  assert.equal(edited.body.name, 'renamed');
  const removed = await request(`${refsPath}/renamed`, { method: 'DELETE' });
  assert.deepEqual([removed.status, removed.body], [200, 'ok']);
  assert.deepEqual((await request(refsPath)).body, []);
});

test('validates a reference without storing it', async () => {
  const { post, request } = await aNode();
  const answer = await post(`${refsPath}?just_validate=1`, reference);
  assert.deepEqual([answer.status, answer.body], [200, []]);
  assert.deepEqual((await request(refsPath)).body, []);
});

test('refuses each wrong field of a reference by its name', async () => {
  const { post } = await aNode();
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
    [{ demandEncryption: '1', encryptionType: 'half' }, 'encryptionType', /half/],
    [{ demandEncryption: '', encryptionType: 'x' }, 'encryptionType', /invalid value/],
    [{ secureType: 'half' }, 'secureType', /half/],
    [{ secureType: 'x' }, 'secureType', /Invalid value/],
    [{ clientCertificate: 'x' }, 'clientCertificate', /cannot be given/],
    [{ clientKey: 'x' }, 'clientKey', /cannot be given/],
    [{ network_type: 'x' }, 'network_type', /invalid/],
    [{ stage: 'true' }, 'stage', /not available/],
  ] as const) {
    const answer = await post(refsPath, { ...reference, ...fields });
    assert.equal(answer.status, 400, JSON.stringify(fields));
    assert.match(String(answer.body[key]), text, JSON.stringify([fields, answer.body]));
  }
});

test('refuses a reference with the reason why its cluster cannot be used', async () => {
  const failing = (code: string) => ({ fails: Object.assign(new Error(code), { code }) });
  for (const [target, text] of [
    [failing('ECONNREFUSED'), /^Could not connect to "far" on port 8091\. This could be due to/],
    [failing('ENOTFOUND'), /^Failed to resolve address for "far"/],
    [{ password: 'other' }, /^Authentication failed\. Verify username and password\. Got HTTP status 401/],
    [{ uuid: '' }, /^Could not get uuid of remote cluster/],
  ] as const) {
    const { post } = await aNode(target);
    const answer = await post(refsPath, reference);
    assert.equal(answer.status, 400);
    assert.match(answer.body._, text);
  }
});

test('refuses a duplicate name or cluster, an edit that leads to another cluster, and an unknown name', async () => {
  const { post, current, request } = await aNode();
  await post(refsPath, reference);
  const text = async (path: string, form: Record<string, string>) => (await post(path, form)).body._;
  assert.equal(await text(refsPath, reference), 'Duplicate cluster names are not allowed');
  assert.match(await text(refsPath, { ...reference, name: 'x' }), /already exists under the name `there`/);
  current.target = { uuid: 'e'.repeat(32) };
  assert.match(await text(`${refsPath}/there`, reference), /points to a different remote cluster/);
  assert.match(await text(`${refsPath}/x`, reference), /^unknown remote cluster : refName - x$/);
  const gone = await request(`${refsPath}/x`, { method: 'DELETE' });
  assert.deepEqual([gone.status, gone.body._], [400, 'unknown remote cluster : refName - x']);
  assert.equal((await request(refsPath, { method: 'DELETE' })).status, 405);
});

test('creates a replication, lists it as a task, and deletes it by its id in every encoding', async () => {
  const { post, request } = await aNode();
  await post(refsPath, reference);
  for (const cancel of [
    (uri: string) => request(uri, { method: 'DELETE' }),
    (uri: string) => request(uri, { method: 'POST' }),
    (uri: string) => request(uri.replace('XDCR', 'XCDR'), { method: 'DELETE' }),
    (uri: string) => request(uri.replaceAll('%', '%25'), { method: 'DELETE' }),
  ]) {
    const created = await post('/controller/createReplication', replication);
    assert.deepEqual([created.status, created.body], [200, { id }]);
    const [task] = (await request('/pools/default/tasks')).body.filter(
      ({ type }: { type: string }) => type === 'xdcr',
    );
    assert.deepEqual(
      [task.id, task.source, task.target, task.continuous, task.status],
      [id, 'b', `/remoteClusters/${targetUuid}/buckets/taken`, true, 'notRunning'],
    );
    const [listed] = (await request('/pools/default/replications')).body;
    assert.deepEqual([listed.id, listed.type], [id, 'xdc-xmem']);
    const removed = await cancel(task.cancelURI);
    assert.deepEqual([removed.status, removed.body], [200, []]);
    assert.deepEqual((await request('/pools/default/replications')).body, []);
  }
  const unknown = await request(`/controller/cancelXDCR/${encodeURIComponent(id)}`, { method: 'DELETE' });
  assert.deepEqual([unknown.status, unknown.body.errors._], [400, 'requested resource not found']);
  assert.equal((await request(`/controller/cancelXDCR/${id}`, { method: 'DELETE' })).status, 405);
});

test('refuses each wrong field of a replication by its name', async () => {
  const { post } = await aNode();
  await post(refsPath, reference);
  for (const [fields, key, text] of [
    [{ replicationType: '' }, 'replicationType', 'replication type cannot be empty'],
    [{ replicationType: 'once' }, 'replicationType', 'replicationType is invalid'],
    [{ fromBucket: '' }, 'fromBucket', 'source bucket cannot be empty'],
    [{ fromBucket: 'no' }, 'fromBucket', "Error validating source bucket 'no'. err=Bucket doesn't exist"],
    [{ toCluster: '' }, 'toCluster', 'target cluster cannot be empty'],
    [
      { toCluster: 'no' },
      'toCluster',
      'cannot find remote cluster\n err = unknown remote cluster : refName - no',
    ],
    [{ toBucket: '' }, 'toBucket', 'target bucket cannot be empty'],
    [{ toBucket: 'no' }, 'toBucket', "Error validating target bucket 'no'. err=Bucket doesn't exist"],
    [{ checkpointInterval: '59' }, 'checkpointInterval', 'The value must be an integer between 60 and 14400'],
    [{ workerBatchSize: '1.5' }, 'workerBatchSize', 'The value must be an integer'],
    [{ filterDeletion: 'yes' }, 'filterDeletion', 'The value must be a boolean'],
    [
      { compressionType: 'x' },
      'compressionType',
      'Unable to translate user input to internal compression Type',
    ],
    [{ type: 'capi' }, 'type', 'CAPI replication mode is now deprecated'],
    [{ type: 'x' }, 'type', 'type is invalid'],
    [
      { filterExpression: 'a = 1 and b = 2' },
      'filterExpression',
      'Filter expression is invalid: at character 7: and is case-sensitive here; write AND',
    ],
    [{ priority: 'Low' }, 'priority', 'The only value in this version is High'],
    [
      { collectionsExplicitMapping: 'true' },
      'collectionsExplicitMapping',
      'This is not available in this version; the only value is false',
    ],
    [
      { desiredLatency: '50' },
      'desiredLatency',
      'This setting is not available in this version; leave it out',
    ],
    [{ pauseRequested: 'x' }, 'pauseRequested', 'The value must be a boolean'],
    [
      { filterSkipRestream: 'true' },
      'filterSkipRestream',
      'A new replication has nothing to skip; the only value is false',
    ],
    [{ filterSkipRestream: 'x' }, 'filterSkipRestream', 'The value must be a boolean'],
    [
      { network_type: 'external' },
      'network_type',
      'Remote cluster there is reached by the network default; change it there',
    ],
  ] as const) {
    const answer = await post('/controller/createReplication', { ...replication, ...fields });
    assert.equal(answer.status, 400, JSON.stringify(fields));
    assert.equal(answer.body.errors[key], text, JSON.stringify([fields, answer.body]));
  }
});

test('refuses a target bucket that cannot take the documents, and a second replication', async () => {
  const { post, current } = await aNode();
  await post(refsPath, reference);
  const errors = async () => (await post('/controller/createReplication', replication)).body.errors;
  current.target = { bucket: bucketOf({ conflictResolutionType: 'lww' }) };
  assert.match((await errors())._, /different ConflictResolutionType/);
  current.target = { bucket: bucketOf({ bucketType: 'memcached' }) };
  assert.match((await errors()).toBucket, /^Incompatible target bucket/);
  current.target = { bucket: bucketOf({ vBucketServerMap: { vBucketMap: [[0]] } }) };
  assert.match(
    (await errors()).toBucket,
    /number of vbuckets in source cluster, 1024, and target cluster, 1,/,
  );
  current.target = {};
  const trial = await post('/controller/createReplication?just_validate=1', replication);
  assert.deepEqual([trial.status, trial.body], [200, { id }]);
  assert.equal((await post('/controller/createReplication', replication)).status, 200);
  assert.equal((await errors())._, 'Replication to the same remote cluster and bucket already exists');
});

test('refuses to delete a reference in use, and to flush a bucket that is replicated', async () => {
  const { post, request } = await aNode();
  await post('/pools/default/buckets/b', { flushEnabled: '1' });
  await post(refsPath, reference);
  await post('/controller/createReplication', replication);
  const removed = await request(`${refsPath}/there`, { method: 'DELETE' });
  assert.equal(
    removed.body._,
    `Cannot delete remote cluster \`there\` since it is referenced by replications [${id}]`,
  );
  const flushed = await post('/pools/default/buckets/b/controller/doFlush', {});
  assert.deepEqual([flushed.status, flushed.body], [503, { _: 'Cannot flush buckets with outgoing XDCR' }]);
});

test('deletes a reference whose only replications are of deleted buckets, with those replications', async () => {
  const { post, request } = await aNode();
  await post(refsPath, reference);
  await post('/controller/createReplication', replication);
  await request('/pools/default/buckets/b', { method: 'DELETE' });
  assert.equal((await request(`${refsPath}/there`, { method: 'DELETE' })).status, 200);
  await post('/pools/default/buckets', { name: 'b', ramQuotaMB: '100' });
  await post(refsPath, reference);
  const created = await post('/controller/createReplication', replication);
  assert.deepEqual([created.status, created.body], [200, { id }]);
});

test('changes the settings of one replication, and the defaults of replications created later', async () => {
  const { post, request } = await aNode();
  await post(refsPath, reference);
  const defaults = await post('/settings/replications', { checkpointInterval: '60', filterDeletion: '1' });
  assert.deepEqual([defaults.status, defaults.body.checkpointInterval], [200, 60]);
  await post('/controller/createReplication', { ...replication, workerBatchSize: '10' });
  const path = `/settings/replications/${encodeURIComponent(id)}`;
  const { body } = await request(path);
  assert.deepEqual(
    [body.checkpointInterval, body.filterDeletion, body.workerBatchSize, body.type, body.pauseRequested],
    [60, true, 10, 'xmem', false],
  );
  const paused = await post(path, { pauseRequested: 'true', workerBatchSize: '10000' });
  assert.deepEqual([paused.body.pauseRequested, paused.body.workerBatchSize], [true, 10_000]);
  const [task] = (await request('/pools/default/tasks')).body.filter(
    ({ type }: { type: string }) => type === 'xdcr',
  );
  assert.deepEqual([task.status, task.pauseRequested], ['notRunning', true]);
  assert.deepEqual((await post(`${path}?just_validate=1`, { pauseRequested: 'false' })).body, []);
  assert.equal((await request(path)).body.pauseRequested, true);
  const wrong = await post(path, { pauseRequested: 'x', statsInterval: '199' });
  assert.deepEqual(
    [wrong.status, wrong.body],
    [
      400,
      {
        pauseRequested: 'The value must be a boolean',
        statsInterval: 'The value must be an integer between 200 and 600000',
      },
    ],
  );
  for (const method of ['GET', 'POST'] as const) {
    const answer = await request('/settings/replications/x', { method });
    assert.deepEqual([answer.status, answer.body.errors._], [400, 'requested resource not found']);
  }
});

test('a filter expression belongs to one replication, and is changed only together with filterSkipRestream', async () => {
  const { post, request } = await aNode();
  await post(refsPath, reference);
  await post('/controller/createReplication', { ...replication, filterExpression: ' EXISTS(a) ' });
  const path = `/settings/replications/${encodeURIComponent(id)}`;
  const shown = async () => {
    const [task] = (await request('/pools/default/tasks')).body.filter(
      ({ type }: { type: string }) => type === 'xdcr',
    );
    return [task.filterExpression, (await request(path)).body.filterExpression];
  };
  assert.deepEqual(await shown(), ['EXISTS(a)', 'EXISTS(a)']);
  const lacking = await post(path, { filterExpression: 'EXISTS(b)' });
  assert.deepEqual(
    [lacking.status, lacking.body],
    [400, { filterExpression: 'Filter skip restream flag is required along with a filter' }],
  );
  const wrong = await post(path, { filterExpression: 'b', filterSkipRestream: 'x' });
  assert.deepEqual(Object.keys(wrong.body).sort(), ['filterExpression', 'filterSkipRestream']);
  assert.deepEqual(await shown(), ['EXISTS(a)', 'EXISTS(a)']);
  for (const [filterExpression, filterSkipRestream] of [
    ['EXISTS(b)', 'true'],
    ['EXISTS(c)', '0'],
    ['', 'false'],
  ] as const) {
    const changed = await post(path, { filterExpression, filterSkipRestream });
    assert.deepEqual([changed.status, changed.body.filterExpression], [200, filterExpression]);
    assert.deepEqual(await shown(), [filterExpression, filterExpression]);
  }
  const text = 'This is a setting of each replication, without a default; leave it out';
  const defaults = await post('/settings/replications', { filterExpression: 'EXISTS(a)' });
  assert.deepEqual([defaults.status, defaults.body], [400, { filterExpression: text }]);
  const skip = await post('/settings/replications', { filterSkipRestream: 'true' });
  assert.deepEqual([skip.status, skip.body], [400, { filterSkipRestream: text }]);
});

test('lets roles of the source bucket pause its replication, and only replication administrators change it', async () => {
  const { post, request } = await aNode();
  await post('/pools/default/buckets', { name: 'other', ramQuotaMB: '100' });
  await post(refsPath, reference);
  await post('/controller/createReplication', replication);
  for (const [name, roles] of [
    ['own', 'bucket_admin[b]'],
    ['foreign', 'bucket_admin[other]'],
    ['xdcr', 'replication_admin'],
  ] as const)
    await request(`/settings/rbac/users/local/${name}`, {
      method: 'PUT',
      form: { password: 'password', roles },
    });
  const path = `/settings/replications/${encodeURIComponent(id)}`;
  const status = async (as: string, form: Record<string, string>) =>
    (await post(path, form, `${as}:password`)).status;
  assert.deepEqual(
    [
      await status('own', { pauseRequested: 'true' }),
      await status('own', { workerBatchSize: '100' }),
      await status('own', { pauseRequested: 'true', workerBatchSize: '100' }),
      await status('foreign', { pauseRequested: 'true' }),
      await status('xdcr', { workerBatchSize: '100' }),
    ],
    [200, 403, 403, 403, 200],
  );
  const seen = async (as: string) =>
    (await request('/pools/default/replications', { as: `${as}:password` })).body.length;
  assert.deepEqual([await seen('own'), await seen('foreign')], [1, 0]);
});

test('refuses strict encryption while a reference is not fully secure, and names it', async () => {
  const { post, request } = await aNode();
  await post('/settings/autoFailover', { enabled: 'false' });
  await post('/node/controller/enableExternalListener', { nodeEncryption: 'on' });
  await post('/node/controller/setupNetConfig', { nodeEncryption: 'on' });
  const level = (clusterEncryptionLevel: string) => post('/settings/security', { clusterEncryptionLevel });
  await post(refsPath, reference);
  const refused = await level('strict');
  assert.equal(refused.status, 400);
  assert.match(
    refused.body.errors[0],
    /^clusterEncryptionLevel - .* references `there` do not use full encryption/,
  );
  assert.equal((await request('/settings/security')).body.clusterEncryptionLevel, 'control');
  assert.equal((await level('all')).status, 200);
  const secured = await post(`${refsPath}/there`, { ...reference, secureType: 'full', certificate: 'pem' });
  assert.equal(secured.status, 200);
  assert.equal((await level('strict')).status, 200);
  const weakened = await post(`${refsPath}/there`, reference);
  assert.match(weakened.body._, /must use full encryption/);
});
