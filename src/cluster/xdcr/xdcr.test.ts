import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const sentence = (what: string) => `${what} is not available in this version.`;
const xdcr = sentence('Replication between clusters');

test("refuses calls about replication between clusters, in each call's published form", async () => {
  const { request } = await aManager();
  for (const [method, path, body] of [
    ['POST', '/pools/default/remoteClusters', { _: xdcr }],
    ['DELETE', '/pools/default/remoteClusters/elsewhere', { _: xdcr }],
    ['POST', '/controller/createReplication', { errors: { _: xdcr } }],
    ['DELETE', '/controller/cancelXDCR/uuid%2Fshop%2Fshop', { errors: { _: xdcr } }],
    ['GET', '/settings/replications', { errors: { _: xdcr } }],
  ] as const) {
    const answer = await request(path, { method, ...(method === 'POST' && { form: { hostname: 'there' } }) });
    assert.equal(answer.status, 501, path);
    assert.deepEqual(typeof body === 'string' ? answer.text : answer.body, body, path);
  }
});

test('checks the permission before it refuses a call', async () => {
  const { request } = await aManager();
  const form = { password: 'password', roles: 'data_reader[*]' };
  await request('/settings/rbac/users/local/reader', { method: 'PUT', form });
  const statusAs = async (as: string | null) =>
    (await request('/controller/createReplication', { method: 'POST', form: {}, as })).status;
  assert.deepEqual([await statusAs('reader:password'), await statusAs(null)], [403, 401]);
});

test('advertises no call about replication between clusters', async () => {
  const { request } = await aManager();
  const pool = (await request('/pools/default')).body;
  assert.deepEqual([pool.remoteClusters, pool.controllers.replication], [undefined, undefined]);
  assert.equal(Object.keys(pool.controllers).length, 10);
});
