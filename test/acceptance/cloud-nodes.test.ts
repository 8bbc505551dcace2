// A cluster of several nodes from its creation to its deletion: scaled both ways, and one of its processes killed, while the official SDK
// reads and writes with copies.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Collection, DurabilityLevel } from 'couchbase';
import { hostedCluster, untilGone, untilStatus } from '../support/cloud-cluster.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { needs } from '../support/needs.ts';
import { eventuallyWithin } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const waitLimitMs = 240_000;
/** Enough for each node to have some. */
const documents = Array.from({ length: 40 }, (_, n) => `d${n}`);
const account = { username: 'app', password: 'correct-Horse-7' };

class ScaledCluster {
  readonly cloud: CloudProcess;
  readonly path: string;

  private constructor(cloud: CloudProcess, path: string) {
    this.cloud = cloud;
    this.path = path;
  }

  static async create(cloud: CloudProcess, size: number): Promise<ScaledCluster> {
    const projectId = (await cloud.request('POST', '/v2/projects', { name: 'shop' })).body.id as string;
    const body = hostedCluster(projectId, { servers: [server(size)] });
    const { status, headers } = await cloud.request('POST', '/v3/clusters', body);
    assert.equal(status, 202);
    return new ScaledCluster(cloud, headers.get('location') as string);
  }

  async send(method: string, path: string, body: unknown): Promise<void> {
    const answer = await this.cloud.request(method, `${this.path}${path}`, body);
    assert.ok([201, 202].includes(answer.status), JSON.stringify(answer.body));
  }

  async scale(size: number): Promise<string[]> {
    await this.send('PUT', '/servers', { servers: [server(size)] });
    return this.untilHealthy(size);
  }

  /** Resolves with the endpoints. Repeated: just after a node was killed the cluster is still healthy, and degraded a moment later. */
  async untilHealthy(size: number): Promise<string[]> {
    return await eventuallyWithin(waitLimitMs, async () => {
      const { endpointsURL } = await untilStatus(this.cloud, this.path, 'healthy', waitLimitMs);
      assert.equal(new Set(endpointsURL).size, size);
      const { health, nodeStats } = (await this.cloud.request('GET', `${this.path}/health`)).body;
      assert.deepEqual([health, nodeStats.totalCount, nodeStats.unhealthyCount], ['healthy', size, 0]);
      assert.equal(this.cloud.nodePids().length, size);
      return endpointsURL;
    });
  }
}

const server = (size: number) => ({
  size,
  compute: 'm5.xlarge',
  services: ['data', 'query', 'index'],
  storage: { type: 'GP3', IOPS: 3000, size: 50 },
});

/** The process of a node that has another address. */
function pidElsewhere({ dataDir }: CloudProcess, address: string): number {
  const nodes = join(dataDir, 'nodes');
  const ready = readdirSync(nodes).map(
    (id) =>
      JSON.parse(readFileSync(join(nodes, id, 'ready.json'), 'utf8')) as {
        pid: number;
        node: { kv: string };
      },
  );
  return ready.find(({ node }) => !node.kv.startsWith(`${address}:`))?.pid ?? assert.fail('no other node');
}

/** Repeats reads that fail: the node of a document may have been killed a moment ago. */
async function assertAll(collection: Collection): Promise<void> {
  for (const id of documents)
    await eventuallyWithin(waitLimitMs, async () =>
      assert.deepEqual((await collection.get(id)).content, { id }),
    );
}

test('a cluster of three nodes keeps its documents through scaling and the death of a node', {
  skip: needs('loopback addresses'),
}, async () => {
  await using cloud = await CloudProcess.start({ args: ['--capacity', '1024'] });
  const cluster = await ScaledCluster.create(cloud, 3);
  const endpoints = await cluster.untilHealthy(3);
  await cluster.send('POST', '/allowlist', { cidrBlock: '127.0.0.1/32', ruleType: 'permanent' });
  await cluster.send('POST', '/buckets', { name: 'orders', memoryQuota: 100, replicas: 1 });
  await cluster.send('POST', '/users', {
    ...account,
    buckets: [{ bucketName: 'orders', bucketAccess: ['data_reader', 'data_writer'] }],
  });
  await cluster.untilHealthy(3);
  const app = await connect(`couchbase://${endpoints.join(',')}`, account);
  try {
    const collection = app.bucket('orders').defaultCollection();
    const durable = { durabilityLevel: DurabilityLevel.Majority };
    await Promise.all(documents.map((id) => collection.upsert(id, { id }, durable)));
    const [founder] = endpoints;
    assert.equal((await cluster.scale(2))[0], founder);
    await assertAll(collection);
    assert.equal((await cluster.scale(3))[0], founder);
    await assertAll(collection);
    const victim = pidElsewhere(cloud, founder as string);
    process.kill(victim, 'SIGKILL');
    await eventuallyWithin(waitLimitMs, () => assert.ok(!cloud.nodePids().includes(victim)));
    await eventuallyWithin(waitLimitMs, () => assert.equal(cloud.nodePids().length, 3));
    await cluster.untilHealthy(3);
    await assertAll(collection);
  } finally {
    await app.close();
  }
  assert.equal((await cloud.request('DELETE', cluster.path)).status, 202);
  await untilGone(cloud, cluster.path);
  assert.deepEqual(cloud.nodePids(), []);
  assert.deepEqual(readdirSync(join(cloud.dataDir, 'nodes')), []);
});
