// Failures around clusters from which the cloud recovers: deletions at any time, killed nodes, stops and starts.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { LocalProvisioner, operatorAddressHere } from '#cloud/provisioner/local/local-provisioner.host.ts';
import { AddressInUseError } from '#cloud/provisioner/provisioner.ts';
import { TableChecksums } from '#cloud/store/table-checksums.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { aCluster, type CloudCluster, untilGone, untilStatus } from '../support/cloud-cluster.ts';
import { CloudProcess, endNodes } from '../support/cloud-process.ts';
import { eventually } from '../support/node-process.ts';

async function requestCluster(
  cloud: CloudProcess,
  name: string,
): Promise<{ path: string; operation: string }> {
  const projectId = (await cloud.request('POST', '/v2/projects', { name: 'shop' })).body.id;
  const cloudId = (await cloud.request('GET', '/v2/clouds')).body.data[0].id;
  const { headers } = await cloud.request('POST', '/v2/clusters', { name, cloudId, projectId });
  return {
    path: headers.get('location') as string,
    operation: headers.get('divan-operation') as string,
  };
}

const folders = (cloud: CloudProcess): string[] => readdirSync(join(cloud.dataDir, 'nodes'));

describe('a running cloud', () => {
  const environment = { PGPASSWORD: 'of the database', SOME_TOKEN: 'of somebody', TZ: 'UTC' };
  let cloud: CloudProcess;
  /** The only cluster, once the first test has deleted its own one. */
  let cluster: CloudCluster;
  before(async () => {
    cloud = await CloudProcess.start({ environment });
  });
  after(() => cloud?.[Symbol.asyncDispose]());

  test('deletes a cluster during its creation, and treats further deletions as the same operation', async () => {
    const { path, operation } = await requestCluster(cloud, 'hasty');
    await eventually(() => assert.equal(cloud.nodePids().length, 1));
    const deletions = await Promise.all([1, 2, 3].map(() => cloud.request('DELETE', path)));
    assert.deepEqual(
      deletions.map(({ status }) => status),
      [202, 202, 202],
    );
    assert.equal(new Set(deletions.map(({ headers }) => headers.get('divan-operation'))).size, 1);
    await untilGone(cloud, path);
    assert.deepEqual([cloud.nodePids(), folders(cloud)], [[], []]);
    const replaced = (await cloud.request('GET', operation)).body;
    assert.deepEqual([replaced.state, replaced.lastError], ['failed', 'the cluster is being deleted']);
    assert.equal((await cloud.request('DELETE', path)).status, 404);
  });

  test('starts nodes with an allocator that returns memory, and without the secrets in the environment of the cloud', async () => {
    cluster = await aCluster(cloud);
    const read = (file: string) =>
      readFileSync(`/proc/${cloud.nodePids()[0]}/${file}`, 'latin1').split('\0').slice(0, -1);
    const given = new Map(read('environ').map((entry) => entry.split('=', 2) as [string, string]));
    assert.deepEqual([given.get('MALLOC_MMAP_THRESHOLD_'), given.get('TZ')], ['131072', 'UTC']);
    assert.deepEqual([given.get('PGPASSWORD'), given.get('SOME_TOKEN')], [undefined, undefined]);
    assert.deepEqual([...given.keys()].filter((name) => name.startsWith('DIVAN_')).sort(), [
      'DIVAN_PASSWORD',
      'DIVAN_USERNAME',
    ]);
    const password = given.get('DIVAN_PASSWORD') as string;
    assert.ok(password.length > 20);
    assert.ok(!read('cmdline').join(' ').includes(password));
  });

  test('reports a cluster as degraded while its node is dead, and restarts the node each time', async () => {
    const { id } = cluster;
    const status = async (): Promise<string> =>
      (await cloud.request('GET', `/v3/clusters/${id}/status`)).body.status;
    for (let death = 1; death <= 2; death++) {
      const [pid] = cloud.nodePids();
      process.kill(pid as number, 'SIGKILL');
      assert.equal(await status(), 'degraded');
      await eventually(async () => assert.equal(await status(), 'healthy'));
      assert.notEqual(cloud.nodePids()[0], pid);
      assert.equal(cloud.nodePids().length, 1);
    }
  });

  test('refuses requests that need a dead node, and still answers those that need only the database of the cloud', async () => {
    const { path, id } = cluster;
    await cloud.request('POST', `${path}/buckets`, { name: 'orders', memoryQuota: 100, replicas: 0 });
    const user = { username: 'app', password: 'correct-Horse-7', allBucketsAccess: 'data_reader' };
    assert.equal((await cloud.request('POST', `${path}/users`, user)).status, 201);
    const [pid] = cloud.nodePids();
    // The cloud starts the node again at once: each time the test kills it before it is ready, until all requests are answered.
    const killing = setInterval(() => endNodes(cloud.dataDir), 10);
    endNodes(cloud.dataDir);
    const requests = [
      ['GET', '/buckets'],
      ['GET', '/buckets/b3JkZXJz'],
      ['POST', '/buckets', { name: 'b', memoryQuota: 100 }],
      ['PUT', '/buckets', [{ name: 'orders', memoryQuota: 100 }]],
      ['DELETE', '/buckets', { name: 'orders' }],
      ['PUT', '/buckets/b3JkZXJz', { memoryQuota: 100 }],
      ['DELETE', '/buckets/b3JkZXJz'],
      ['POST', '/users', { ...user, username: 'other' }],
      ['PUT', '/users/app', { password: 'Another-Horse-8' }],
      ['DELETE', '/users/app'],
    ] as const;
    const answers = requests.map(([method, below, body]) => cloud.request(method, `${path}${below}`, body));
    const health = cloud.request('GET', `${path}/health`);
    const v3Health = cloud.request('GET', `/v3/clusters/${id}/health`);
    await Promise.allSettled([...answers, health, v3Health]);
    clearInterval(killing);
    for (const [i, answer] of (await Promise.all(answers)).entries()) {
      const [method, below] = requests[i] as (typeof requests)[number];
      assert.equal(answer.status, 422, `${method} ${below}: ${JSON.stringify(answer.body)}`);
      assert.match(
        answer.body.message,
        /^the cluster’s node does not answer: (.* try again in a few seconds|it is started again \(.*\)|it is being started)$/,
      );
    }
    const { status, health: reported } = (await health).body;
    assert.deepEqual([status, reported, (await v3Health).body.status], ['ready', 'unhealthy', 'degraded']);
    assert.equal((await cloud.request('GET', `${path}/users`)).body[0].username, 'app');
    assert.equal((await cloud.request('GET', `${path}/allowlist`)).body.length, 1);
    assert.equal((await cloud.request('GET', `${path}/certificate`)).status, 200);
    await eventually(async () => assert.equal((await cloud.request('GET', `${path}/buckets`)).status, 200));
    assert.notEqual(cloud.nodePids()[0], pid);
    assert.equal((await cloud.request('DELETE', `${path}/users/app`)).status, 204);
  });
});

/** Opens the cloud's database as another of its servers would, with the function that computes checksums. */
function writableDatabase(cloud: CloudProcess): DatabaseSync {
  const database = new DatabaseSync(join(cloud.dataDir, 'cloud.db'));
  new TableChecksums(database);
  return database;
}

test('the cloud reports why the creation of a cluster failed, and deletes it', async () => {
  await using first = await CloudProcess.start();
  const { path } = await aCluster(first);
  await first.stop('SIGKILL');
  const database = writableDatabase(first);
  database.exec("update clusters set phase = 'deploy_failed'");
  database.exec("update operations set state = 'failed', last_error = 'no such luck'");
  database.close();
  await using cloud = await CloudProcess.start({ dataDir: first.dataDir });
  assert.equal((await cloud.request('GET', `${path}/status`)).body.status, 'deploy_failed');
  const refused = await cloud.request('GET', `${path}/buckets`);
  assert.equal(refused.status, 422);
  assert.match(refused.body.message, /deploy_failed.*\/v3\/operations\/.*no such luck/);
  const operation = /\/v3\/operations\/[0-9a-f-]+/.exec(refused.body.message)?.[0] as string;
  assert.equal((await cloud.request('GET', operation)).body.lastError, 'no such luck');
  assert.equal((await cloud.request('DELETE', path)).status, 202);
  await untilGone(cloud, path);
  assert.deepEqual([cloud.nodePids(), folders(cloud)], [[], []]);
});

describe('a cloud that stops and starts', () => {
  let first: CloudProcess;
  /** The two clusters. */
  let path: string;
  let halfMade: string;
  before(async () => {
    first = await CloudProcess.start();
    ({ path } = await aCluster(first));
  });
  after(() => first?.[Symbol.asyncDispose]());

  test('stops its nodes, has restarted them before it answers, and finishes clusters that were almost ready when it was stopped', async () => {
    await first.request('POST', `${path}/buckets`, { name: 'orders', memoryQuota: 100, replicas: 0 });
    ({ path: halfMade } = await requestCluster(first, 'half-made'));
    assert.equal(await first.stop('SIGTERM'), 0);
    assert.deepEqual(first.nodePids(), []);
    await using second = await CloudProcess.start({ dataDir: first.dataDir });
    const buckets = await second.request('GET', `${path}/buckets`);
    assert.equal(buckets.body[0].name, 'orders');
    await untilStatus(second, halfMade, 'ready');
    assert.equal(second.nodePids().length, 2);
    await second.stop();
    assert.deepEqual(second.nodePids(), []);
    const database = writableDatabase(first);
    database.exec("update clusters set phase = 'deploying', deployed_at = null");
    database.exec("update operations set state = 'open', step = 'probe'");
    database.close();
    await using third = await CloudProcess.start({ dataDir: first.dataDir });
    for (const almostReady of [path, halfMade]) await untilStatus(third, almostReady, 'ready');
    assert.equal(third.nodePids().length, 2);
    await third.stop();
  });

  test('names the key that it needs, and does not replace a node that lost its data by an empty one', async () => {
    const key = join(first.dataDir, 'secret.key');
    renameSync(key, `${key}.away`);
    await assert.rejects(
      CloudProcess.start({ dataDir: first.dataDir }),
      /divan: --key-file: the secret\.key of the data folder does not open the secrets of \/[^\n]*\/cloud\.db, [^\n]*\n$/,
    );
    writeFileSync(key, 'short');
    await assert.rejects(
      CloudProcess.start({ dataDir: first.dataDir }),
      /divan: --key-file: cannot use the secret\.key of the data folder: a key of 32 bytes is needed, not 5\n$/,
    );
    renameSync(`${key}.away`, key);
    rmSync(join(first.dataDir, 'nodes'), { recursive: true });
    await using second = await CloudProcess.start({ dataDir: first.dataDir });
    const { body } = await second.request('GET', `${path}/health`);
    assert.equal(body.health, 'unhealthy');
    const why = /^the cluster’s node does not answer: its data folder .* is missing.*or delete the cluster$/;
    assert.match(body.reason, why);
    assert.match((await second.request('GET', `${path}/buckets`)).body.message, why);
    assert.deepEqual(second.nodePids(), []);
    await eventually(() => assert.match(second.output, /node\.data_missing/));
    for (const lost of [path, halfMade]) {
      assert.equal((await second.request('DELETE', lost)).status, 202);
      await untilGone(second, lost);
    }
    await second.stop();
  });
});

test('the cloud recognizes its nodes after the loss of folder.id, and names their owner after the loss of their owner files', async () => {
  await using first = await CloudProcess.start();
  const { path } = await aCluster(first);
  await first.stop('SIGTERM');
  const id = readFileSync(join(first.dataDir, 'folder.id'), 'utf8');
  rmSync(join(first.dataDir, 'folder.id'));
  await using second = await CloudProcess.start({ dataDir: first.dataDir });
  assert.equal((await second.request('GET', `${path}/health`)).body.health, 'healthy');
  await second.stop('SIGTERM');
  rmSync(join(first.dataDir, 'folder.id'));
  rmSync(join(first.dataDir, 'nodes'), { recursive: true });
  await using third = await CloudProcess.start({ dataDir: first.dataDir });
  const { body } = await third.request('GET', `${path}/health`);
  assert.deepEqual(
    [body.health, body.reason.includes(`has ${id} in its file folder.id`)],
    ['unhealthy', true],
  );
  const operation = (await third.request('DELETE', path)).headers.get('divan-operation') as string;
  await third.stop('SIGTERM');
  const database = writableDatabase(first);
  // A minute earlier: the next step of the deletion is due at the start.
  database.exec('update operations set next_at = next_at - 60000');
  database.close();
  await using fourth = await CloudProcess.start({ dataDir: first.dataDir });
  const { lastError } = (await fourth.request('GET', operation)).body;
  assert.match(lastError, new RegExp(`waits for the server whose data folder has ${id}.*takes over$`));
  await fourth.stop();
  writeFileSync(join(first.dataDir, 'folder.id'), id);
  await using fifth = await CloudProcess.start({ dataDir: first.dataDir });
  await untilGone(fifth, path);
  await fifth.stop();
});

test('the cloud removes the nodes of deleted clusters at start, and no node of unknown origin', async () => {
  await using first = await CloudProcess.start();
  const { path } = await aCluster(first, { name: 'deleted' });
  const [folderOfDeleted] = folders(first);
  const { path: unknown } = await aCluster(first, { name: 'unknown' });
  const folderOfUnknown = folders(first).filter((folder) => folder !== folderOfDeleted);
  await first.stop('SIGKILL');
  const database = writableDatabase(first);
  database.exec('pragma foreign_keys = off; delete from nodes; delete from clusters');
  const id = path.split('/').at(-1) as string;
  database.prepare("update operations set kind = 'delete' where cluster_id = ?").run(id);
  database.close();
  await using second = await CloudProcess.start({ dataDir: first.dataDir });
  assert.equal((await second.request('GET', unknown)).status, 404);
  assert.deepEqual(folders(second), folderOfUnknown);
  assert.equal(second.nodePids().length, 1);
  await eventually(() => assert.match(second.output, /node\.unknown/));
});

test('the provisioner reports an address in use, and starts the node on another one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-provisioner-'));
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const operatorAddress = operatorAddressHere();
  const provisioner = new LocalProvisioner({ ...ports, folder, home: 'here', operatorAddress });
  const place = await provisioner.place([]);
  const other = createServer().listen(place.ports.kv, place.address);
  const administrator = { username: 'Administrator', password: 'correct-Horse-7' };
  const spec = { id: 'n', clusterId: 'c', memoryMb: 256, services: ['data'], administrator, ...place };
  const { signal } = new AbortController();
  try {
    await assert.rejects(provisioner.start(spec, signal), AddressInUseError);
    await provisioner.remove('n');
    const elsewhere = await provisioner.place([place]);
    await provisioner.start({ ...spec, ...elsewhere }, signal);
    assert.equal(provisioner.downReason('n'), null);
    await provisioner.remove('n');
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    other.close();
    await provisioner.close();
    endNodes(folder);
    rmSync(folder, { recursive: true });
  }
});
