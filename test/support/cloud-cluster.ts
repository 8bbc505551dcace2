// Creates a cluster of the cloud that is ready to use.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { CloudProcess } from './cloud-process.ts';
import { pauseMs } from './node-process.ts';

export interface CloudCluster {
  id: string;
  projectId: string;
  /** `/v2/clusters/<id>` */
  path: string;
  /** The connection string for SDKs. */
  connectionString: string;
}

const timeoutMs = 120_000;

/** The body of the request for a hosted cluster. */
export const hostedCluster = (projectId: string, change: object = {}) => ({
  environment: 'hosted',
  clusterName: 'catalog',
  projectId,
  description: 'what we sell',
  place: { singleAZ: true, hosted: { provider: 'aws', region: 'us-east-1', CIDR: '10.0.16.0/20' } },
  servers: [
    { size: 1, compute: 'm5.xlarge', services: ['data'], storage: { type: 'GP3', IOPS: 3000, size: 50 } },
  ],
  supportPackage: { timezone: 'GMT', type: 'Basic' },
  ...change,
});

/** Creates a cluster that admits 127.0.0.1, unless `isOpen` is false. */
export async function aCluster(
  cloud: CloudProcess,
  { name = 'orders', isOpen = true, services = ['data'] } = {},
): Promise<CloudCluster> {
  const projectId = (await cloud.request('POST', '/v2/projects', { name: `project of ${name}` })).body
    .id as string;
  const cloudId = (await cloud.request('GET', '/v2/clouds?sortBy=name.asc')).body.data[0].id as string;
  const created = await cloud.request('POST', '/v2/clusters', {
    name,
    cloudId,
    projectId,
    servers: [{ size: 1, services }],
  });
  assert.equal(created.status, 202, JSON.stringify(created.body));
  const path = created.headers.get('location') as string;
  const cluster = await untilStatus(cloud, path, 'ready');
  if (isOpen) {
    const here = { cidrBlock: '127.0.0.1/32', ruleType: 'permanent' };
    assert.equal((await cloud.request('POST', `${path}/allowlist`, here)).status, 202);
  }
  return { id: cluster.id, projectId, path, connectionString: `couchbase://${cluster.endpointsURL[0]}` };
}

/** Polls a cluster until it has the status; fails at once on a failed status. */
export async function untilStatus(
  cloud: CloudProcess,
  path: string,
  status: string,
  withinMs = timeoutMs,
): Promise<{ id: string; endpointsURL: string[] }> {
  const fromMs = performance.now();
  for (;;) {
    const { body } = await cloud.request('GET', path);
    if (body.status === status) return body;
    assert.doesNotMatch(String(body.status), /fail/i, JSON.stringify(body));
    const waitedMs = performance.now() - fromMs;
    assert.ok(waitedMs < withinMs, `${path} is ${body.status}, not ${status}, after ${withinMs} ms`);
    await pause(pauseMs(waitedMs));
  }
}

export async function untilGone(cloud: CloudProcess, path: string): Promise<void> {
  const fromMs = performance.now();
  while ((await cloud.request('GET', path)).status !== 404) {
    const waitedMs = performance.now() - fromMs;
    assert.ok(waitedMs < timeoutMs, `${path} is still there after ${timeoutMs} ms`);
    await pause(pauseMs(waitedMs));
  }
}
