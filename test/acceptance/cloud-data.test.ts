// Buckets, database users, certificate and health of a cluster of the cloud, and the official SDK as its client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import couchbase from 'couchbase';
import { aCluster } from '../support/cloud-cluster.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { eventually } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const orders = { name: 'orders', memoryQuota: 100, replicas: 0, conflictResolution: 'seqno' };

test('the cloud lets a database user read and write documents within its rights, and not outside them', async () => {
  await using cloud = await CloudProcess.start();
  const { path, connectionString } = await aCluster(cloud);
  for (const name of ['orders', 'secrets']) {
    const creation = await cloud.request('POST', `${path}/buckets`, { ...orders, name, memoryQuota: 100 });
    assert.equal(creation.status, 201, JSON.stringify(creation.body));
    assert.deepEqual(creation.body, { ...orders, name });
  }
  const password = 'correct-Horse-7';
  const buckets = [{ bucketName: 'orders', bucketAccess: ['data_reader', 'data_writer'] }];
  assert.equal(
    (await cloud.request('POST', `${path}/users`, { username: 'app', password, buckets })).status,
    201,
  );
  const app = await connect(connectionString, { username: 'app', password });
  try {
    const collection = app.bucket('orders').defaultCollection();
    await collection.upsert('o1', { total: 12 });
    assert.deepEqual((await collection.get('o1')).content, { total: 12 });
    await assert.rejects(app.bucket('secrets').defaultCollection().upsert('x', {}, { timeout: 2_000 }));
    const readOnly = { buckets: [{ bucketName: 'orders', bucketAccess: ['data_reader'] }] };
    assert.equal((await cloud.request('PUT', `${path}/users/app`, readOnly)).status, 204);
    await eventually(() => assert.rejects(collection.upsert('o2', {}), couchbase.AuthenticationFailureError));
    assert.deepEqual((await collection.get('o1')).content, { total: 12 });
  } finally {
    await app.close();
  }
  const listed = await cloud.request('GET', `${path}/users`);
  assert.deepEqual(listed.body[0].access, [{ bucketName: 'orders', bucketAccess: ['data_reader'] }]);
  assert.doesNotMatch(JSON.stringify(listed.body), /Horse/);
  assert.equal((await cloud.request('DELETE', `${path}/users/app`)).status, 204);
  await assert.rejects(
    connect(connectionString, { username: 'app', password }),
    couchbase.AuthenticationFailureError,
  );
});

test('the cloud runs the statements of a database user within its rights, over an index', async () => {
  await using cloud = await CloudProcess.start();
  const { path, connectionString } = await aCluster(cloud, { services: ['data', 'index', 'query'] });
  for (const name of ['orders', 'secrets'])
    assert.equal((await cloud.request('POST', `${path}/buckets`, { ...orders, name })).status, 201);
  const password = 'correct-Horse-7';
  const writer = [{ bucketName: 'orders', bucketAccess: ['data_reader', 'data_writer'] }];
  const user = { username: 'app', password, buckets: writer };
  assert.equal((await cloud.request('POST', `${path}/users`, user)).status, 201);
  const app = await connect(connectionString, { username: 'app', password });
  try {
    await app.query('CREATE INDEX by_total ON orders(total)');
    await app.query('INSERT INTO orders VALUES ("o1", {"total": 12}), ("o2", {"total": 3})');
    const { RequestPlus: scanConsistency } = couchbase.QueryScanConsistency;
    const largeTotals = async () =>
      (await app.query('SELECT RAW total FROM orders WHERE total > 5', { scanConsistency })).rows;
    assert.deepEqual(await largeTotals(), [12]);
    await assert.rejects(app.query('SELECT * FROM secrets'), couchbase.AuthenticationFailureError);
    const readOnly = { buckets: [{ bucketName: 'orders', bucketAccess: ['data_reader'] }] };
    assert.equal((await cloud.request('PUT', `${path}/users/app`, readOnly)).status, 204);
    await eventually(async () =>
      assert.rejects(app.query('DELETE FROM orders'), couchbase.AuthenticationFailureError),
    );
    assert.deepEqual(await largeTotals(), [12]);
  } finally {
    await app.close();
  }
  const { body } = await cloud.request('GET', `${path}/health`);
  assert.deepEqual(body.nodeStats.serviceStats[0].services.toSorted(), ['data', 'index', 'query']);
});

test('the cloud changes and deletes buckets by their path, and by their name in the body', async () => {
  await using cloud = await CloudProcess.start();
  const { path } = await aCluster(cloud);
  const buckets = `${path}/buckets`;
  const creation = await cloud.request('POST', buckets, { name: 'orders', memoryQuota: 100 });
  assert.deepEqual(creation.body, { ...orders, replicas: 1 });
  // The id of a bucket is its name in base64.
  const [listed] = (await cloud.request('GET', buckets)).body;
  assert.deepEqual(listed, { ...orders, replicas: 1, id: 'b3JkZXJz', status: listed.status });
  const location = creation.headers.get('location') as string;
  assert.equal(location, `${buckets}/b3JkZXJz`);
  assert.equal((await cloud.request('PUT', location, { memoryQuota: 110 })).status, 202);
  assert.equal((await cloud.request('GET', location)).body.memoryQuota, 110);
  const changed = await cloud.request('PUT', buckets, [{ name: 'orders', memoryQuota: 120, replicas: 0 }]);
  assert.equal(changed.status, 201);
  assert.deepEqual(changed.body, { ...orders, memoryQuota: 120 });
  const alone = await cloud.request('PUT', buckets, { name: 'orders', memoryQuota: 121 });
  assert.equal(alone.status, 201, JSON.stringify(alone.body));
  assert.deepEqual(alone.body, { ...orders, memoryQuota: 121 });
  const refusals: [method: string, path: string, body: unknown, status: number, message: RegExp][] = [
    ['POST', buckets, { name: 'orders', memoryQuota: 100 }, 422, /name: .*already exists/],
    ['POST', buckets, { name: 'b', memoryQuota: 99 }, 422, /memoryQuota: must be .* at least 100/],
    ['POST', buckets, { name: 'b', memoryQuota: 100_000 }, 422, /^memoryQuota: [^;]*$/],
    ['POST', buckets, { name: 'b', memoryQuota: 100_000_000 }, 422, /memoryQuota/],
    ['POST', buckets, { name: 'a b', memoryQuota: 100 }, 422, /name/],
    ['POST', buckets, { name: 'b', memoryQuota: 100, replicas: 4 }, 422, /replicas: .*0 to 3/],
    ['PUT', buckets, [{ name: 'nowhere', memoryQuota: 100 }], 404, /nowhere/],
    ['PUT', buckets, [], 422, /body: must name at least one bucket/],
    ['PUT', buckets, [{ name: 'orders' }], 422, /^0\.memoryQuota: is missing/],
    ['PUT', buckets, { name: 'orders' }, 422, /^memoryQuota: is missing/],
    [
      'PUT',
      buckets,
      [
        { name: 'orders', memoryQuota: 100 },
        { name: 'orders', memoryQuota: 101 },
      ],
      422,
      /^body: must name each bucket once$/,
    ],
    ['PUT', `${buckets}/xxxx`, { memoryQuota: 100 }, 404, /bucket/],
    ['DELETE', `${buckets}/bm93aGVyZQ`, undefined, 404, /^there is no bucket "nowhere"$/],
    ['PUT', `${buckets}/bm93aGVyZQ`, { memoryQuota: 100 }, 404, /^there is no bucket "nowhere"$/],
    [
      'PUT',
      buckets,
      [{ name: 'orders', memoryQuota: 100, conflictResolution: 'lww' }],
      422,
      /conflictResolution/,
    ],
    ['DELETE', buckets, { name: 'nowhere' }, 404, /nowhere/],
    ['DELETE', `${buckets}/xxxx`, undefined, 404, /bucket/],
  ];
  for (const [method, to, body, status, message] of refusals) {
    const answer = await cloud.request(method, to, body);
    assert.equal(
      answer.status,
      status,
      `${method} ${to} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`,
    );
    assert.match(answer.body.message, message);
  }
  const deleted = await cloud.request('DELETE', buckets, { name: 'orders' });
  assert.equal(deleted.status, 202);
  assert.equal((await cloud.request('GET', deleted.headers.get('location') as string)).status, 404);
  assert.deepEqual((await cloud.request('GET', buckets)).body, []);
});

test('the cloud reports the free memory when a quota does not fit, changes several buckets completely or not at all, and deletes a bucket once', async () => {
  await using cloud = await CloudProcess.start();
  const { path } = await aCluster(cloud);
  const buckets = `${path}/buckets`;
  const message = async (method: string, to: string, body: unknown): Promise<string> => {
    const answer = await cloud.request(method, to, body);
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    return answer.body.message;
  };
  assert.equal(
    await message('POST', buckets, { name: 'a', memoryQuota: 257 }),
    'memoryQuota: bucket "a" takes 257 MB more, and 256 of the 256 MB of the cluster are free: ask for 100 to 256 MB, or shrink or delete other buckets',
  );
  for (const [name, memoryQuota] of [
    ['a', 110],
    ['b', 120],
  ] as const)
    assert.equal((await cloud.request('POST', buckets, { name, memoryQuota })).status, 201);
  assert.equal(
    await message('POST', buckets, { name: 'c', memoryQuota: 100 }),
    'memoryQuota: bucket "c" takes 100 MB more, and 26 of the 256 MB of the cluster are free: shrink or delete other buckets',
  );
  assert.equal(
    await message('PUT', `${buckets}/YQ`, { memoryQuota: 200 }),
    'memoryQuota: bucket "a" takes 90 MB more, and 26 of the 256 MB of the cluster are free: ask for 100 to 136 MB, or shrink or delete other buckets',
  );
  const both = (a: number, b: number) => [
    { name: 'a', memoryQuota: a },
    { name: 'b', memoryQuota: b },
  ];
  assert.equal(
    await message('PUT', buckets, both(100, 200)),
    'memoryQuota: these buckets take 70 MB more, and 26 of the 256 MB of the cluster are free: shrink or delete other buckets',
  );
  const quotas = async () =>
    (await cloud.request('GET', buckets)).body.map(({ memoryQuota }: { memoryQuota: number }) => memoryQuota);
  assert.deepEqual(await quotas(), [110, 120]);
  assert.equal((await cloud.request('PUT', buckets, both(156, 100))).status, 201);
  assert.deepEqual(await quotas(), [156, 100]);
  const deletions = await Promise.all([1, 2, 3].map(() => cloud.request('DELETE', `${buckets}/YQ`)));
  assert.deepEqual(deletions.map(({ status }) => status).sort(), [202, 404, 404]);
});

test('the cloud shows the health that the nodes report, and their certificate', async () => {
  await using cloud = await CloudProcess.start();
  const { path } = await aCluster(cloud);
  await cloud.request('POST', `${path}/buckets`, orders);
  const healthy = await eventually(async () => {
    const { body } = await cloud.request('GET', `${path}/health`);
    assert.equal(body.health, 'healthy');
    return body;
  });
  assert.deepEqual(healthy.bucketStats, {
    status: 'healthy',
    totalCount: 1,
    unhealthyCount: 0,
    healthStats: { orders: 'healthy' },
  });
  assert.equal(healthy.nodeStats.totalCount, 1);
  const { certificate } = (await cloud.request('GET', `${path}/certificate`)).body;
  assert.match(certificate, /BEGIN CERTIFICATE/);
  for (const pid of cloud.nodePids()) process.kill(pid, 'SIGKILL');
  await eventually(async () =>
    assert.equal((await cloud.request('GET', `${path}/health`)).body.health, 'unhealthy'),
  );
  await eventually(async () =>
    assert.equal((await cloud.request('GET', `${path}/health`)).body.health, 'healthy'),
  );
});

test('the cloud accepts users of v3, and refuses wrong names, scopes, buckets and passwords', async () => {
  await using cloud = await CloudProcess.start();
  const { path, id } = await aCluster(cloud);
  await cloud.request('POST', `${path}/buckets`, orders);
  const users = `/v3/clusters/${id}/users`;
  const access = [{ name: 'orders', scope: '_default', access: 'data_writer' }];
  const creation = await cloud.request('POST', users, {
    username: 'w',
    password: 'correct-Horse-7',
    buckets: access,
  });
  assert.equal(creation.status, 201, JSON.stringify(creation.body));
  assert.deepEqual((await cloud.request('GET', users)).body[0].access, [
    { bucketName: 'orders', scope: '_default', bucketAccess: ['data_writer'] },
  ]);
  const refusedName = await cloud.request('POST', users, { username: 'a b', password: 'correct-Horse-7' });
  assert.match(refusedName.body.message, /^username: /);
  const withoutScope = [{ name: 'orders', access: 'data_reader' }];
  const refusedScope = await cloud.request('POST', users, {
    username: 'x',
    password: 'correct-Horse-7',
    buckets: withoutScope,
  });
  assert.equal(
    refusedScope.body.message,
    'buckets.0.scope: is missing: it must be a string of 1 to 251 characters',
  );
  const weak = await cloud.request('POST', users, { username: 'x', password: 'short', buckets: access });
  assert.equal(weak.status, 422);
  assert.match(weak.body.message, /password: /);
  const unknownBucket = await cloud.request('POST', users, {
    username: 'x',
    password: 'correct-Horse-7',
    buckets: [{ ...access[0], name: 'nowhere' }],
  });
  assert.equal(unknownBucket.status, 422, JSON.stringify(unknownBucket.body));
  assert.equal((await cloud.request('GET', users)).body.length, 1);
});
