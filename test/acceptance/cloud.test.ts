// The cloud from outside: real clusters of real nodes, over HTTP.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CloudProcess } from '../support/cloud-process.ts';
import { eventually } from '../support/node-process.ts';

async function aProject(cloud: CloudProcess): Promise<string> {
  const { status, body } = await cloud.request('POST', '/v2/projects', { name: 'shop' });
  assert.equal(status, 201);
  return body.id;
}

test('tells that it is up without credentials, and asks for them elsewhere', async () => {
  await using cloud = await CloudProcess.start();
  assert.deepEqual((await cloud.request('GET', '/v2/status', undefined, '')).body, { status: 'ok' });
  const refused = await cloud.request('GET', '/v2/projects', undefined, '');
  assert.equal(refused.status, 401);
  assert.equal(refused.body.errorType, 'Unauthorized');
});

test('makes a cluster that serves documents, and leaves nothing of it when it is deleted', async () => {
  await using cloud = await CloudProcess.start();
  const projectId = await aProject(cloud);
  const clouds = await cloud.request('GET', '/v2/clouds');
  const cloudId = clouds.body.data[0].id;
  const created = await cloud.request('POST', '/v2/clusters', { name: 'orders', cloudId, projectId });
  assert.equal(created.status, 202);
  const location = created.headers.get('location') as string;
  const cluster = await eventually(async () => {
    const { body } = await cloud.request('GET', location);
    assert.equal(body.status, 'ready');
    return body;
  });
  assert.equal(cluster.name, 'orders');
  assert.equal(cluster.endpointsURL.length, 1);
  assert.equal(cloud.nodePids().length, 1);
  assert.equal((await cloud.request('DELETE', location)).status, 202);
  await eventually(async () => assert.equal((await cloud.request('GET', location)).status, 404));
  assert.deepEqual(cloud.nodePids(), []);
  const folder = join(cloud.dataDir, 'nodes');
  assert.deepEqual(existsSync(folder) ? readdirSync(folder) : [], []);
});

test('finds its nodes again after it was killed', async () => {
  const first = await CloudProcess.start();
  const projectId = await aProject(first);
  const cloudId = (await first.request('GET', '/v2/clouds')).body.data[0].id;
  const { headers } = await first.request('POST', '/v2/clusters', { name: 'orders', cloudId, projectId });
  const location = headers.get('location') as string;
  await eventually(async () => assert.equal((await first.request('GET', location)).body.status, 'ready'));
  const pids = first.nodePids();
  await first.stop('SIGKILL');
  const second = await CloudProcess.start({ dataDir: first.dataDir });
  assert.equal((await second.request('GET', location)).body.status, 'ready');
  assert.deepEqual(second.nodePids(), pids);
  assert.equal((await second.request('DELETE', location)).status, 202);
  await eventually(async () => assert.equal((await second.request('GET', location)).status, 404));
  assert.deepEqual(second.nodePids(), []);
  await second.stop();
  await first[Symbol.asyncDispose]();
});
