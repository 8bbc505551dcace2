// Tests of the cloud over HTTP with real clusters, run with each database.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { hostedCluster } from './cloud-cluster.ts';
import { CloudProcess } from './cloud-process.ts';
import { eventually } from './node-process.ts';

async function aProject(cloud: CloudProcess): Promise<string> {
  const { status, body } = await cloud.request('POST', '/v2/projects', { name: 'shop' });
  assert.equal(status, 201);
  return body.id;
}

/** `databaseArgs` returns the flags of a new database. The tests share a cloud, so their order matters: the first one lists all projects, the last one kills the cloud. */
export function cloudSuite(databaseArgs: () => Promise<string[]>): void {
  describe('one cloud', () => {
    let cloud: CloudProcess;
    before(async () => {
      cloud = await CloudProcess.start({ args: await databaseArgs() });
    });
    after(() => cloud?.[Symbol.asyncDispose]());

    test('orders text by code points, independent of the collation of the database', async () => {
      const names = [
        'b',
        'A',
        'a',
        'B',
        'ä',
        '_',
        'Z',
        'a b',
        'ab',
        '-a',
        'a-b',
        'é',
        '1',
        '10',
        '2',
        'Ω',
        '😀',
      ];
      for (const name of names)
        assert.equal((await cloud.request('POST', '/v2/projects', { name })).status, 201, name);
      const listed = async (direction: string): Promise<string[]> =>
        (await cloud.request('GET', `/v2/projects?perPage=100&sortBy=name.${direction}`)).body.data.map(
          (project: { name: string }) => project.name,
        );
      const inOrder = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.deepEqual(await listed('asc'), inOrder);
      assert.deepEqual(await listed('desc'), inOrder.toReversed());
    });

    test('reports that it is up without credentials, and requires them elsewhere', async () => {
      assert.deepEqual((await cloud.request('GET', '/v2/status', undefined, '')).body, { status: 'ok' });
      const refused = await cloud.request('GET', '/v2/projects', undefined, '');
      assert.equal(refused.status, 401);
      assert.equal(refused.body.errorType, 'Unauthorized');
    });

    test('refuses an invalid cluster with the name of the field', async () => {
      const projectId = await aProject(cloud);
      const [server] = hostedCluster(projectId).servers;
      const refusals: [object, RegExp][] = [
        [{ servers: [server, { ...server, size: 27 }] }, /^servers\.size: a cluster has at most 27 nodes/],
        [
          { servers: [{ ...server, services: ['eventing'] }] },
          /servers\.services: nodes do not offer "eventing"/,
        ],
        [{ servers: [{ ...server, compute: 'huge' }] }, /servers\.compute/],
        [
          { servers: [{ ...server, services: ['data', 'data'] }] },
          /^servers\.0\.services: must name each service once$/,
        ],
        [{ clusterName: 'x' }, /clusterName: must have 2 to 128/],
        [{ environment: 'vpc' }, /environment/],
        [{ unheardOf: 1 }, /unheardOf: unknown field/],
        [{ projectId: '6cd5a4de-3c06-4c9b-8a3c-000000000000' }, /projectId: there is no project/],
      ];
      for (const [change, message] of refusals) {
        const { status, body } = await cloud.request(
          'POST',
          '/v3/clusters',
          hostedCluster(projectId, change),
        );
        assert.equal(status, 422, JSON.stringify(change));
        assert.match(body.message, message);
      }
      const cloudId = (await cloud.request('GET', '/v2/clouds')).body.data[0].id;
      const both = {
        size: 1,
        services: ['data'],
        aws: { instanceSize: 'm5.xlarge', ebsSizeGib: 50 },
        azure: { instanceSize: 'Standard_D4s_v3', volumeType: 'P4' },
      };
      const form = { name: 'orders', cloudId, projectId, servers: [both] };
      const { body } = await cloud.request('POST', '/v2/clusters', form);
      assert.equal(body.message, 'servers.0: must have aws or azure, not both');
      const { aws: _, ...ofAzure } = both;
      const elsewhere = { ...form, servers: [ofAzure] };
      const refused = await cloud.request('POST', '/v2/clusters', elsewhere);
      assert.deepEqual(
        [refused.status, refused.body.message],
        [422, `servers.0.azure: the provider of cloud ${cloudId} is aws: leave "azure" out`],
      );
      assert.deepEqual(cloud.nodePids(), []);
    });

    test('creates a cluster with one running node, and removes it with process and data', async () => {
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

    test('creates and scales a hosted cluster, reports its progress as an operation, and hides the cluster from v2', async () => {
      const projectId = await aProject(cloud);
      const created = await cloud.request('POST', '/v3/clusters', hostedCluster(projectId));
      assert.equal(created.status, 202);
      const location = created.headers.get('location') as string;
      const operation = created.headers.get('divan-operation') as string;
      await eventually(async () => assert.equal((await cloud.request('GET', operation)).body.state, 'done'));
      const { body } = await cloud.request('GET', location);
      assert.equal(body.status, 'healthy');
      assert.deepEqual(body.servers, hostedCluster(projectId).servers);
      assert.deepEqual(body.place, hostedCluster(projectId).place.hosted);
      assert.equal((await cloud.request('PUT', `${location}/meta`, { name: 'goods' })).status, 204);
      assert.equal((await cloud.request('GET', location)).body.name, 'goods');
      const [server] = body.servers;
      const scale = (...servers: object[]) => cloud.request('PUT', `${location}/servers`, { servers });
      for (const storage of [server.storage, { type: 'IO2', IOPS: 9000, size: 200 }]) {
        const accepted = await scale({ ...server, storage });
        assert.deepEqual([accepted.status, accepted.headers.get('location')], [202, location]);
        assert.deepEqual((await cloud.request('GET', location)).body.servers, [{ ...server, storage }]);
      }
      assert.equal((await cloud.request('GET', location)).body.status, 'healthy');
      // Two changes of one cluster at the same time both take effect.
      for (const [size, timezone] of [60, 70, 80, 90].map((n) => [n, n % 20 === 0 ? 'ET' : 'PT'])) {
        const support = { supportPackage: { timezone, type: 'Enterprise' } };
        const storage = { ...server.storage, size };
        await Promise.all([
          scale({ ...server, storage }),
          cloud.request('PUT', `${location}/support`, support),
        ]);
        const changed = (await cloud.request('GET', location)).body;
        assert.deepEqual(
          [changed.servers[0].storage, changed.supportPackage],
          [storage, support.supportPackage],
        );
      }
      const refusals: [object[], RegExp][] = [
        [[server, { ...server, size: 27 }], /^servers\.size: a cluster has at most 27 nodes .*, not 28$/],
        [
          [server, { ...server, size: 26, compute: 'm5.24xlarge' }],
          /^servers: the new nodes would take 159744 MB and \d+ of \d+ MB are free; /,
        ],
        [[{ ...server, services: ['search'] }], /^servers\.services: nodes do not offer "search" yet/],
        [[{ ...server, services: ['index'] }], /^servers\.services: a cluster needs "data"/],
        [[{ ...server, services: ['data', 'query'] }], /^servers\.0\.services: must stay "data": /],
        [
          [{ ...server, compute: 'm5.24xlarge' }],
          /^servers\.0\.compute: must stay "m5\.xlarge" for at least one node: .* make a new cluster$/,
        ],
      ];
      for (const [servers, message] of refusals) {
        const refused = await scale(...servers);
        assert.equal(refused.status, 422);
        assert.match(refused.body.message, message);
      }
      const underV2 = await cloud.request('GET', location.replace('v3', 'v2'));
      assert.equal(underV2.status, 404);
      assert.match(underV2.body.message, /v3/);
      const listed = await cloud.request('GET', '/v3/clusters');
      assert.deepEqual(
        listed.body.data.items.map(({ name }: { name: string }) => name),
        ['goods'],
      );
      assert.equal((await cloud.request('GET', '/v2/clusters')).body.cursor.pages.totalItems, 0);
      const project = await cloud.request('DELETE', `/v2/projects/${projectId}`);
      assert.equal(project.status, 422);
      assert.match(project.body.message, /goods/);
    });

    test('controls the nodes that a killed cloud left running on its data folder', async () => {
      const others = cloud.nodePids();
      const projectId = await aProject(cloud);
      const cloudId = (await cloud.request('GET', '/v2/clouds')).body.data[0].id;
      const { headers } = await cloud.request('POST', '/v2/clusters', { name: 'orders', cloudId, projectId });
      const location = headers.get('location') as string;
      await eventually(async () => assert.equal((await cloud.request('GET', location)).body.status, 'ready'));
      const pids = cloud.nodePids();
      await cloud.stop('SIGKILL');
      await using second = await CloudProcess.start({ dataDir: cloud.dataDir, args: cloud.args });
      assert.equal((await second.request('GET', location)).body.status, 'ready');
      assert.deepEqual(second.nodePids(), pids);
      assert.equal((await second.request('DELETE', location)).status, 202);
      await eventually(async () => assert.equal((await second.request('GET', location)).status, 404));
      assert.deepEqual(second.nodePids(), others);
    });
  });
}
