// Setting up a node over REST like an operator's script or a published container module.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { Relay } from '../support/relay.ts';
import { connect } from '../support/sdk.ts';

const form = (fields: Record<string, string>): RequestInit => ({ body: new URLSearchParams(fields) });
const portOf = (url: string): string => new URL(url.includes('//') ? url : `tcp://${url}`).port;

test('a node is set up by the steps of the published container module, and reached through mapped ports', async () => {
  await using node = await NodeProcess.start({ unprovisioned: true });
  const call = (method: string, path: string, init: RequestInit = {}) =>
    fetch(`${node.ready.node.rest}${path}`, { method, ...init });
  const ok = async (method: string, path: string, init: RequestInit = {}, status = 200) => {
    const answer = await call(method, path, init);
    const text = await answer.text();
    assert.equal(answer.status, status, `${method} ${path}: ${text}`);
    return text;
  };
  const { username, password } = administrator;
  const withAccount = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };

  const pools = JSON.parse(await ok('GET', '/pools'));
  assert.equal(pools.isEnterprise, true);
  await ok('GET', '/pools/default/nodeServices');
  await ok('POST', '/node/controller/rename', form({ hostname: '127.0.0.1' }));
  const refused = await call(
    'POST',
    '/node/controller/setupServices',
    form({ services: 'kv,index,n1ql,fts' }),
  );
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /fts/);
  await ok('POST', '/node/controller/setupServices', form({ services: 'kv' }));
  await ok('POST', '/pools/default', form({ memoryQuota: '256' }));
  await ok('POST', '/settings/web', form({ username, password, port: 'SAME' }));

  // Like the port mapping of a container.
  await using mgmt = await Relay.open(Number(portOf(node.ready.node.rest)));
  await using kv = await Relay.open(Number(portOf(node.ready.node.kv)));
  await using capi = await Relay.open(Number(portOf(node.ready.node.capi)));
  const ports = { mgmt: String(mgmt.port), kv: String(kv.port), capi: String(capi.port) };
  const external = { hostname: '127.0.0.1', ...ports };
  await ok('PUT', '/node/controller/setupAlternateAddresses/external', {
    ...form(external),
    headers: withAccount,
  });
  await ok('POST', '/settings/indexes', { ...form({ storageMode: 'plasma' }), headers: withAccount });
  const bucket = { name: 'b', ramQuotaMB: '100', flushEnabled: '1', replicaNumber: '0' };
  await ok('POST', '/pools/default/buckets', { ...form(bucket), headers: withAccount }, 202);
  await eventually(async () => {
    const { nodes } = JSON.parse(await ok('GET', '/pools/default', { headers: withAccount }));
    assert.deepEqual(
      nodes.map((each: { status: string }) => each.status),
      ['healthy'],
    );
    await ok('GET', '/pools/default/b/b', { headers: withAccount });
  });

  const cluster = await connect(`couchbase://127.0.0.1:${ports.kv}?network=external`, administrator);
  try {
    const collection = cluster.bucket('b').defaultCollection();
    await collection.upsert('mapped', { through: 'ports' });
    assert.deepEqual((await collection.get('mapped')).content, { through: 'ports' });
    assert.equal((await cluster.buckets().getAllBuckets()).length, 1);
  } finally {
    await cluster.close();
  }
});

test('a node answers only the open routes before credentials are set, whatever credentials are sent', async () => {
  await using node = await NodeProcess.start({ unprovisioned: true });
  const status = async (path: string, headers = {}) =>
    (await fetch(`${node.ready.node.rest}${path}`, { headers })).status;
  for (const path of ['/pools', '/versions', '/whoami', '/nodes/self', '/pools/default/nodeServices']) {
    assert.equal(await status(path), 200, path);
    assert.equal(await status(path, { authorization: `Basic ${btoa('nobody:password')}` }), 200, path);
  }
  assert.equal(await status('/pools/default'), 404);
  assert.equal(await status('/pools/default/buckets'), 401);
  assert.equal(await status('/settings/rbac/users'), 401);
});

test('a node keeps its memory quota and cluster name after a restart, and refuses new services', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-provision-'));
  try {
    const args = ['--memory-quota', '300'];
    for (const clusterName of ['', 'named']) {
      await using node = await NodeProcess.start({ dataDir, args });
      const pool = (await (await node.request('/pools/default')).json()) as Record<string, unknown>;
      assert.equal(pool['memoryQuota'], 300);
      assert.equal(pool['clusterName'], clusterName);
      assert.equal((await node.request('/pools/default', 'POST', { clusterName: 'named' })).status, 200);
      const again = await node.request('/node/controller/setupServices', 'POST', { services: 'kv' });
      assert.equal(again.status, 400);
      assert.match(await again.text(), /cannot change node services after cluster is provisioned/);
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
