// The access of the cloud's database users is exactly the requested one, also after concurrent requests and deletions of buckets.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { aCluster } from '../support/cloud-cluster.ts';
import { CloudProcess } from '../support/cloud-process.ts';

const password = 'correct-Horse-7';

describe('database users', () => {
  let cloud: CloudProcess;
  let v2: string;
  let v3: string;
  before(async () => {
    cloud = await CloudProcess.start();
    const { id, path } = await aCluster(cloud);
    v2 = `${path}/users`;
    v3 = `/v3/clusters/${id}/users`;
    await cloud.request('POST', `${path}/buckets`, { name: 'orders', memoryQuota: 100 });
  });
  after(() => cloud[Symbol.asyncDispose]());

  const accessOf = async (username: string) =>
    (await cloud.request('GET', v2)).body.find((user: { username: string }) => user.username === username)
      ?.access;

  test('are refused with names of buckets and scopes that would result in another role', async () => {
    const otherRole = 'orders],admin,data_reader[orders';
    const reader = ['data_reader'];
    const refusals: [path: string, bucket: object, message: RegExp][] = [
      [v2, { bucketName: otherRole, bucketAccess: reader }, /^buckets\.0\.bucketName: must be the name/],
      [v2, { bucketName: 'orders:_default', bucketAccess: reader }, /^buckets\.0\.bucketName: must be/],
      [v3, { name: otherRole, scope: '*', access: 'data_reader' }, /^buckets\.0\.name: must be the name/],
      [v3, { name: 'orders', scope: otherRole, access: 'data_reader' }, /^buckets\.0\.scope: must be the/],
      [v3, { name: '*', scope: '_default', access: 'data_reader' }, /^buckets\.0\.scope: must be \*/],
      [v3, { bucketName: '*', scope: 's', bucketAccess: reader }, /^buckets\.0\.scope: must be \*/],
    ];
    for (const [path, bucket, message] of refusals) {
      const { status, body } = await cloud.request('POST', path, {
        username: 'x',
        password,
        buckets: [bucket],
      });
      assert.equal(status, 422, JSON.stringify(bucket));
      assert.match(body.message, message);
    }
    assert.equal(await accessOf('x'), undefined);
  });

  test('can be changed to the access that the cloud reports', async () => {
    const buckets = [{ name: 'orders', scope: '_default', access: 'data_reader' }];
    assert.equal((await cloud.request('POST', v3, { username: 's', password, buckets })).status, 201);
    const shown = await accessOf('s');
    assert.deepEqual(shown, [{ bucketName: 'orders', scope: '_default', bucketAccess: ['data_reader'] }]);
    const changed = await cloud.request('PUT', `${v3}/s`, { buckets: shown });
    assert.equal(changed.status, 204, JSON.stringify(changed.body));
    assert.deepEqual(await accessOf('s'), shown);
  });

  test('are created once by concurrent requests for one name', async () => {
    const bodies = Array.from({ length: 8 }, (_, i) => ({ username: 'one', password: `${password}-${i}` }));
    const answers = await Promise.all(bodies.map((body) => cloud.request('POST', v2, body)));
    const created = answers.filter(({ status }) => status === 201);
    assert.equal(created.length, 1, JSON.stringify(answers.map(({ status }) => status)));
    for (const { status, body } of answers.filter((answer) => !created.includes(answer))) {
      assert.equal(status, 422);
      assert.match(body.message, /^username: .* has a user "one" already/);
    }
  });

  test('lose their access to a deleted bucket, also to a new one of its name', async () => {
    const buckets = v2.replace('users', 'buckets');
    const shortLived = { name: 'short-lived', memoryQuota: 100 };
    assert.equal((await cloud.request('POST', buckets, shortLived)).status, 201);
    const roles = ['short-lived', 'orders'].map((bucketName) => ({
      bucketName,
      bucketAccess: ['data_writer'],
    }));
    assert.equal((await cloud.request('POST', v2, { username: 'f', password, buckets: roles })).status, 201);
    assert.equal((await cloud.request('DELETE', buckets, { name: 'short-lived' })).status, 202);
    assert.deepEqual(await accessOf('f'), [roles[1]]);
    const changed = await cloud.request('PUT', `${v2}/f`, { password: 'another-Horse-8' });
    assert.equal(changed.status, 204, JSON.stringify(changed.body));
    assert.equal((await cloud.request('POST', buckets, shortLived)).status, 201);
    assert.deepEqual(await accessOf('f'), [roles[1]]);
  });
});
