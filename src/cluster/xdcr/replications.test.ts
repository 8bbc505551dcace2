import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WantedReplication, XdcrAdmin } from '#xdcr/xdcr.contract.ts';
import {
  aNodeWithTarget,
  replicationId as id,
  reference,
  referencesPath,
  replication,
} from '../../../test/support/xdcr-manager.ts';
import { bucketOf, targetUuid } from '../../../test/support/xdcr-target.ts';
import { choices, fixedSettings, integerRules, refusedSettings, switches } from './replication-settings.ts';

test('the node creates a replication, lists it as a task, and deletes it by its id in every encoding', async () => {
  const { post, request } = await aNodeWithTarget();
  await post(referencesPath, reference);
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

test('the node refuses each wrong field of a replication, and names it', async () => {
  const { post } = await aNodeWithTarget();
  await post(referencesPath, reference);
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
    [{ priority: 'Urgent' }, 'priority', 'priority is invalid'],
    [{ logLevel: 'x' }, 'logLevel', 'logLevel is invalid'],
    [{ desiredLatency: '9' }, 'desiredLatency', 'The value must be an integer between 10 and 10000000'],
    [{ collectionsExplicitMapping: 'x' }, 'collectionsExplicitMapping', 'unable to parse x into a boolean'],
    [{ collectionsMigrationMode: '2' }, 'collectionsMigrationMode', 'unable to parse 2 into a boolean'],
    [
      { collectionsExplicitMapping: 'true', collectionsMigrationMode: '1' },
      'PreUpdateValidate',
      'Migration and Explicit mapping cannot both be active',
    ],
    [
      { collectionsExplicitMapping: 'true', collectionsMirroringMode: 'true' },
      'PreUpdateValidate',
      'Mirroring and Explicit mapping cannot be both active',
    ],
    [
      { collectionsMigrationMode: 'true', collectionsMirroringMode: 'true' },
      'PreUpdateValidate',
      'Migration and mirroring cannot both be active',
    ],
    [
      { collectionsMirroringMode: 'true' },
      'PreUpdateValidate',
      'Mirroring mode is currently not supported for this release',
    ],
    [
      { collectionsExplicitMapping: 'true', colMappingRules: '{"_default":1}' },
      'colMappingRules',
      'value for key _default is the wrong type: number',
    ],
    [
      { collectionsExplicitMapping: 'true', colMappingRules: '{"_default":"a.b"}' },
      'colMappingRules',
      'Invalid scope or collection name for one or both of _default:a.b',
    ],
    [
      { collectionsExplicitMapping: 'true', colMappingRules: '{"no":"a"}' },
      'colMappingRules',
      'no : the specific source namespace does not exist',
    ],
    [{ colMappingRules: '{"a":"b.c"}' }, 'colMappingRules', /^Invalid scope or collection name/],
    [
      { collectionsMigrationMode: 'true', colMappingRules: '{"EXISTS(a)":null}' },
      'colMappingRules',
      'Deny rules are not allowed for migration mode',
    ],
    [
      { collectionsOSOMode: 'true' },
      'collectionsOSOMode',
      'This is not available in this version; the only value is false',
    ],
    [
      { hlvPruningWindowSec: '50' },
      'hlvPruningWindowSec',
      'This setting is not available in this version; leave it out',
    ],
    [{ pauseRequested: 'x' }, 'pauseRequested', 'The value must be a boolean'],
    [{ filterSkipRestream: 'x' }, 'filterSkipRestream', 'The value must be a boolean'],
    [{ network_type: 'x' }, 'network_type', 'network_type specified is invalid'],
  ] as const) {
    const answer = await post('/controller/createReplication', { ...replication, ...fields });
    assert.equal(answer.status, 400, JSON.stringify(fields));
    const { [key]: found } = answer.body.errors;
    if (text instanceof RegExp) assert.match(found, text);
    else assert.equal(found, text, JSON.stringify([fields, answer.body]));
  }
});

test('every setting accepts the limits of its range and its values in upper and lower case, and no other value', async () => {
  const { post, request } = await aNodeWithTarget();
  await post(referencesPath, reference);
  await post('/controller/createReplication', replication);
  const path = `/settings/replications/${encodeURIComponent(id)}`;
  const accepts = async (name: string, text: string, value: unknown) => {
    const answer = await post(path, { [name]: text });
    assert.deepEqual([answer.status, answer.body[name]], [200, value], name);
    assert.equal((await request(path)).body[name], value);
  };
  const refuses = async (name: string, text: string) => {
    const answer = await post(path, { [name]: text });
    assert.deepEqual([answer.status, Object.keys(answer.body)], [400, [name]], `${name}=${text}`);
  };
  for (const [name, { min, max }] of Object.entries(integerRules)) {
    for (const value of [min, max]) await accepts(name, String(value), value);
    for (const text of [String(min - 1), String(max + 1), '1.5', 'x', '']) await refuses(name, text);
  }
  for (const [name, { values }] of Object.entries(choices)) {
    for (const value of values) {
      await accepts(name, value, value);
      await accepts(name, value.toUpperCase(), value);
    }
    for (const text of ['', 'other']) await refuses(name, text);
  }
  // The settings that apply the expression to deletions and expirations require the filters that leave these out.
  await post(path, { ...removals, filterExpression: 'META().id = "k"', filterSkipRestream: 'true' });
  const independent = switches.filter((name) => !Object.hasOwn(removals, name));
  for (const name of [...independent, 'filterDeletionsWithExpression', 'filterExpirationsWithExpression']) {
    for (const text of ['1', 't', 'T', 'TRUE', 'true', 'True']) await accepts(name, text, true);
    for (const text of ['0', 'f', 'F', 'FALSE', 'false', 'False']) await accepts(name, text, false);
    for (const text of ['', 'yes', 'tRUE']) await refuses(name, text);
  }
  for (const name of [...refusedSettings, ...Object.keys(fixedSettings)]) await refuses(name, 'other');
});

const removals = { filterDeletion: 'true', filterExpiration: 'true' };

test('a mapping is a setting of one replication, and changing a part of the mapping keeps the other parts', async () => {
  const { post, request } = await aNodeWithTarget();
  await post(referencesPath, reference);
  await post('/pools/default/buckets/b/scopes', { name: 's' });
  const rules = { s: 't', '_default._default': 'a.b' };
  const created = await post('/controller/createReplication', {
    ...replication,
    collectionsExplicitMapping: 'true',
    colMappingRules: JSON.stringify(rules),
  });
  assert.deepEqual([created.status, created.body], [200, { id }]);
  const path = `/settings/replications/${encodeURIComponent(id)}`;
  const shown = async () => {
    const [listed] = (await request('/pools/default/replications')).body;
    const { body } = await request(path);
    const parts = (from: Record<string, unknown>) => [
      from['collectionsExplicitMapping'],
      from['collectionsMigrationMode'],
      from['colMappingRules'],
    ];
    assert.deepEqual(parts(listed), parts(body));
    return parts(body);
  };
  assert.deepEqual(await shown(), [true, false, rules]);
  const change = async (form: Record<string, string>) => (await post(path, form)).body.colMappingRules;
  await change({ pauseRequested: 'true' });
  assert.deepEqual(await shown(), [true, false, rules]);
  // The implicit mode ignores the stored rules, and they are not checked; rules in the form are.
  assert.deepEqual(await change({ collectionsExplicitMapping: 'false' }), rules);
  assert.deepEqual(await shown(), [false, false, rules]);
  assert.match(await change({ collectionsMigrationMode: 'true' }), /^s -> t seems like a scope to scope/);
  const expressions = { 'EXISTS(a)': 't.c' };
  const migration = { collectionsMigrationMode: 'true', colMappingRules: JSON.stringify(expressions) };
  assert.deepEqual(await change(migration), expressions);
  assert.deepEqual(await shown(), [false, true, expressions]);
  assert.equal((await post(path, { collectionsExplicitMapping: 'true' })).status, 400);
  assert.deepEqual(await change({ collectionsMigrationMode: 'false' }), expressions);
  const later = {
    collectionsExplicitMapping: 'true',
    colMappingRules: '{"later":"t"}',
    collectionsSkipSrcValidation: 'true',
  };
  assert.deepEqual(await change(later), { later: 't' });
  assert.deepEqual(await change({ colMappingRules: '' }), {});
  const text = 'This is a setting of each replication, without a default; leave it out';
  for (const [name, value] of Object.entries(later)) {
    const defaults = await post('/settings/replications', { [name]: value });
    assert.deepEqual([defaults.status, defaults.body[name]], [400, text]);
  }
});

test('the node refuses a target bucket with another conflict resolution, type or number of vbuckets, and a second replication to a bucket', async () => {
  const { post, current } = await aNodeWithTarget();
  await post(referencesPath, reference);
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

test('the node changes the settings of one replication, and the defaults of replications created later', async () => {
  const { post, request } = await aNodeWithTarget();
  await post(referencesPath, reference);
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

test('a replication can use another network than its reference', async (t) => {
  let wanted: readonly WantedReplication[] = [];
  const xdcr: XdcrAdmin = {
    useCheckpoints: () => {},
    apply: (replications) => {
      wanted = replications;
    },
    reports: () => [],
  };
  for (const [network, own, usesAlternate] of [
    ['default', undefined, false],
    ['default', 'external', true],
    ['external', undefined, true],
    ['external', 'default', false],
  ] as const) {
    const { post, request, manager } = await aNodeWithTarget({}, { xdcr });
    t.after(() => manager.stop());
    await post(referencesPath, { ...reference, network_type: network });
    const fields = { ...replication, ...(own && { network_type: own }), filterSkipRestream: 'true' };
    assert.equal((await post('/controller/createReplication', fields)).status, 200);
    assert.deepEqual(
      wanted.map(({ target }) => target.access.usesAlternateAddresses),
      [usesAlternate],
    );
    const path = `/settings/replications/${encodeURIComponent(id)}`;
    assert.equal((await request(path)).body.network_type, own);
    const wrong = await post(path, { network_type: 'x' });
    assert.deepEqual([wrong.status, Object.keys(wrong.body)], [400, ['network_type']]);
    const changed = await post(path, { network_type: usesAlternate ? 'default' : 'external' });
    assert.equal(changed.body.network_type, usesAlternate ? 'default' : 'external');
    assert.deepEqual(
      wanted.map(({ target }) => target.access.usesAlternateAddresses),
      [!usesAlternate],
    );
  }
});

test('a filter expression is a setting of one replication, and a change of it requires filterSkipRestream', async () => {
  const { post, request } = await aNodeWithTarget();
  await post(referencesPath, reference);
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
  const network = await post('/settings/replications', { network_type: 'external' });
  assert.deepEqual([network.status, network.body], [400, { network_type: text }]);
});

test('the node lets roles of the source bucket pause its replication, and only replication administrators change it', async () => {
  const { post, request } = await aNodeWithTarget();
  await post('/pools/default/buckets', { name: 'other', ramQuotaMB: '100' });
  await post(referencesPath, reference);
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
