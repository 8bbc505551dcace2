// The cloud over PostgreSQL: the common tests, and several API servers on one database.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { aCluster, untilGone, untilStatus } from '../support/cloud-cluster.ts';
import { createToken, operator } from '../support/cloud-operator.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { cloudSuite } from '../support/cloud-suite.ts';
import { needs } from '../support/needs.ts';
import { eventually } from '../support/node-process.ts';
import { Postgres } from '../support/postgres.ts';
import { Relay } from '../support/relay.ts';

/** Two clients repeat a request until the returned function is called, with pauses in which the servers and the test have the processors. */
function startReaders(cloud: CloudProcess, path: string): () => Promise<void> {
  let isRunning = true;
  const read = async (): Promise<void> => {
    while (isRunning) {
      assert.equal((await cloud.request('GET', path)).status, 200);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
  };
  const readers = [read(), read()];
  return async () => {
    isRunning = false;
    await Promise.all(readers);
  };
}

describe('over PostgreSQL', { skip: needs('postgresql') }, () => {
  let server: Postgres;
  let databases = 0;
  const database = async (): Promise<string[]> => [
    '--database',
    await server.database(`cloud_${++databases}`),
  ];
  before(async () => {
    server = await Postgres.start();
  });
  after(() => server[Symbol.asyncDispose]());

  cloudSuite(database);

  describe('several API servers', () => {
    const keys = mkdtempSync(join(tmpdir(), 'divan-key-'));
    /** The options of the servers' database. */
    let shared: string[];
    let one: CloudProcess;
    let other: CloudProcess;
    /** A cluster of `one`. */
    let path: string;
    before(async () => {
      shared = await database();
      const args = [...shared, '--key-file', join(keys, 'shared.key')];
      one = await CloudProcess.start({ args });
      other = await CloudProcess.start({ args });
    });
    after(async () => {
      await one?.[Symbol.asyncDispose]();
      await other?.[Symbol.asyncDispose]();
      rmSync(keys, { recursive: true });
    });

    test('serve one organization', async () => {
      const created = await one.request('POST', '/v2/projects', { name: 'shared' });
      assert.deepEqual((await other.request('GET', `/v2/projects/${created.body.id}`)).body, created.body);
      const names = Array.from({ length: 20 }, (_, i) => `p${i}`);
      await Promise.all(
        names.map((name, i) => (i % 2 ? one : other).request('POST', '/v2/projects', { name })),
      );
      const pages = await Promise.all(
        [one, other].map((cloud) => cloud.request('GET', '/v2/projects?perPage=100&sortBy=name.asc')),
      );
      assert.equal(pages[0]?.body.data.length, 21);
      assert.deepEqual(pages[0]?.body.data, pages[1]?.body.data);
    });

    test('read at once what another one has written', async () => {
      const list = async (cloud: CloudProcess): Promise<string[]> =>
        (await cloud.request('GET', '/v2/projects?perPage=100')).body.data.map(
          ({ id }: { id: string }) => id,
        );
      const stopReaders = startReaders(other, '/v2/projects?perPage=100');
      const existing = await list(one);
      // Each server writes twice before each kind of request: three times four combinations.
      for (let i = 0; i < 24; i++) {
        const writer = i % 3 === 0 ? other : one;
        if (i % 4 === 3) {
          const id = existing.shift() as string;
          assert.equal((await writer.request('DELETE', `/v2/projects/${id}`)).status, 204);
          assert.equal((await other.request('GET', `/v2/projects/${id}`)).status, 404);
        } else {
          const { body } = await writer.request('POST', '/v2/projects', { name: `p${i}` });
          existing.push(body.id);
          assert.deepEqual((await other.request('GET', `/v2/projects/${body.id}`)).body, body);
        }
        assert.deepEqual((await list(other)).toSorted(), existing.toSorted(), `write ${i}`);
        assert.deepEqual(await list(one), await list(other));
      }
      await stopReaders();
    });

    test('refuse a token that another one has revoked, and accept its new ones', async () => {
      const stopReaders = startReaders(other, '/v2/clouds');
      const client = new pg.Client({ connectionString: shared[1] as string });
      await client.connect();
      const key = join(keys, 'shared.key');
      const status = async (token: string): Promise<number> =>
        (await other.request('GET', '/v2/clouds', undefined, token)).status;
      for (let i = 0; i < 3; i++) {
        const { token, id } = createToken(one, '--role', 'reader', ...shared, '--key-file', key);
        assert.deepEqual([await status(token), await status(token)], [200, 200]);
        if (i === 0) assert.equal(operator(one, 'token', 'revoke', id, ...shared).status, 0);
        else await client.query('update tokens set revoked_at = 1 where id = $1', [id]);
        assert.equal(await status(token), 401);
      }
      await stopReaders();
      await client.end();
    });

    test('a cluster in a project that is deleted concurrently is created before the deletion or refused', async () => {
      const cloudId = (await one.request('GET', '/v2/clouds')).body.data[0].id;
      for (let round = 0; round < 4; round++) {
        const projectId = (await one.request('POST', '/v2/projects', { name: 'short' })).body.id;
        const [created, deleted] = await Promise.all([
          one.request('POST', '/v2/clusters', { name: 'hasty', cloudId, projectId }),
          other.request('DELETE', `/v2/projects/${projectId}`),
        ]);
        const statuses = `${created.status} ${deleted.status}`;
        assert.ok(['202 422', '422 204'].includes(statuses), `${statuses} ${JSON.stringify(deleted.body)}`);
        if (created.status !== 202) continue;
        const path = created.headers.get('location') as string;
        const deletions = await Promise.all([one, other].map((cloud) => cloud.request('DELETE', path)));
        // The later request may find the cluster deleted already.
        for (const { status } of deletions) assert.ok([202, 404].includes(status), String(status));
        const accepted = deletions.filter(({ status }) => status === 202);
        assert.equal(new Set(accepted.map(({ headers }) => headers.get('divan-operation'))).size, 1);
        await untilGone(one, path);
      }
    });

    test('use the clusters of the others, whose nodes run on the server that made them', async () => {
      ({ path } = await aCluster(one));
      const bucket = { name: 'orders', memoryQuota: 100, replicas: 0 };
      assert.equal((await other.request('POST', `${path}/buckets`, bucket)).status, 201);
      assert.equal((await one.request('GET', `${path}/buckets`)).body[0].name, 'orders');
      // The database has whole milliseconds only.
      const brief = { cidrBlock: '10.0.0.1', ruleType: 'temporary', duration: '1.0006s' };
      assert.equal((await other.request('POST', `${path}/allowlist`, brief)).status, 202);
      assert.deepEqual([one.nodePids().length, other.nodePids().length], [1, 0]);
    });

    test('apply one of several concurrent allowlists completely', async () => {
      const blocks = (from: number) => [0, 1, 2].map((n) => `10.${from + n}.0.0/16`);
      const lists = Array.from({ length: 12 }, (_, i) => blocks(i % 4));
      const answers = await Promise.all(
        lists.map((list, i) =>
          (i % 2 ? one : other).request(
            'PUT',
            `${path}/allowlist`,
            list.map((cidrBlock) => ({ cidrBlock, ruleType: 'permanent' })),
          ),
        ),
      );
      for (const { status, body } of answers) assert.equal(status, 202, JSON.stringify(body));
      await eventually(async () => {
        const { body } = await one.request('GET', `${path}/allowlist`);
        assert.ok(body.every(({ state }: { state: string }) => state === 'active'));
        const kept = JSON.stringify(body.map(({ cidrBlock }: { cidrBlock: string }) => cidrBlock).sort());
        assert.ok(
          lists.some((list) => JSON.stringify(list) === kept),
          kept,
        );
      });
    });

    test('get tokens only from commands with the key of a server', () => {
      const elsewhere = { dataDir: join(keys, 'elsewhere') };
      const { stderr, status } = operator(elsewhere, 'token', 'create', '--role', 'reader', ...shared);
      assert.match(
        stderr,
        /^divan: --key-file: the secret\.key of the data folder is the key of no server of /,
      );
      assert.equal(status, 1);
      createToken(elsewhere, '--role', 'reader', ...shared, '--key-file', join(keys, 'shared.key'));
    });

    test('name the option that is missing when a server has another key', async () => {
      await using stranger = await CloudProcess.start({ args: shared });
      const { status, body } = await stranger.request('GET', `${path}/buckets`);
      assert.equal(status, 500);
      assert.match(body.message, /--key-file/);
    });

    test('delete the clusters of the others', async () => {
      assert.equal((await other.request('DELETE', path)).status, 202);
      await untilGone(other, path);
      assert.deepEqual(one.nodePids(), []);
    });
  });

  test('answers 500 while the database is down, recovers afterwards, and finishes clusters that were being created', async () => {
    await using cloud = await CloudProcess.start({ args: await database() });
    const { document } = await cloud.description();
    const cluster = aCluster(cloud);
    await eventually(() => assert.equal(cloud.nodePids().length, 1));
    await server.stop();
    for (const [path, methods] of Object.entries(document.paths)) {
      if (path === '/v2/status') continue;
      const concrete = path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000');
      for (const method of Object.keys(methods)) {
        const { status, body } = await cloud.request(method.toUpperCase(), concrete);
        const expected = [500, 'the database of the cloud does not answer; try again'];
        assert.deepEqual([status, body.message], expected, `${method} ${path}`);
      }
    }
    assert.equal((await cloud.request('GET', '/v2/status', undefined, '')).status, 200);
    await server.restart();
    const { path } = await cluster;
    assert.equal(cloud.nodePids().length, 1);
    assert.equal((await cloud.request('DELETE', path)).status, 202);
    await server.stop();
    await server.restart();
    await untilGone(cloud, path);
    assert.deepEqual(cloud.nodePids(), []);
  });

  test('continues pending operations as soon as the network is back', async () => {
    const [, url] = (await database()) as [string, string];
    await using network = await Relay.open(Number(new URL(url).port));
    const args = ['--database', url.replace(/:\d+\//, `:${network.port}/`)];
    await using cloud = await CloudProcess.start({ args });
    const projectId = (await cloud.request('POST', '/v2/projects', { name: 'cut' })).body.id;
    const cloudId = (await cloud.request('GET', '/v2/clouds')).body.data[0].id;
    const created = await cloud.request('POST', '/v2/clusters', { name: 'orders', cloudId, projectId });
    const path = created.headers.get('location') as string;
    network.drop();
    // Answered while the network drops every packet: without a limit of its own the cloud would wait until the network is back.
    const refused = await cloud.request('GET', '/v2/projects');
    assert.equal(refused.status, 500);
    // The cloud closes connections to its database that are silent for 20 seconds.
    await eventually(() => assert.equal(network.lostConnections, 0));
    network.resume();
    await eventually(async () => assert.equal((await cloud.request('GET', '/v2/projects')).status, 200));
    await untilStatus(cloud, path, 'ready');
    assert.equal(cloud.nodePids().length, 1);
    assert.equal((await cloud.request('DELETE', path)).status, 202);
    await untilGone(cloud, path);
  });
});
