// Opens data folders of released versions (test/fixtures/data-folders), as an upgrade does.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Bucket, type Cluster, LookupInSpec } from 'couchbase';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const folders = fileURLToPath(new URL('../fixtures/data-folders/', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'divan-older-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

for (const version of ['0.1.0', '0.2.0']) {
  test(`opens a folder of ${version} after a clean stop, compacts it and reads it afterwards`, async () => {
    const dataDir = unpacked(version);
    await withNode(dataDir, async (node, cluster) => {
      await checkDocuments(cluster.bucket('travel'));
      await checkConfiguration(node);
      await checkIdAndMap(node);
      if (version === '0.2.0') await checkIndexAndFunction(cluster);
      await compact(node);
      assert.equal(await node.stop(), 0);
    });
    await withNode(dataDir, (_, cluster) => checkDocuments(cluster.bucket('travel')));
  });

  test(`opens a folder of ${version} after kill -9, with every durable write`, async () => {
    await withNode(unpacked(`${version}-killed`), async (node, cluster) => {
      await checkDocuments(cluster.bucket('travel'));
      await checkConfiguration(node);
      const collection = cluster.bucket('travel').defaultCollection();
      const durable = await Promise.all([0, 1, 2, 3, 4].map((i) => collection.get(`durable-${i}`)));
      assert.deepEqual(
        durable.map(({ content }) => content),
        [0, 1, 2, 3, 4].map((i) => ({ i })),
      );
      if (version === '0.2.0') await checkIndexAndFunction(cluster);
    });
  });
}

/** The node keeps its id in the folder from this start on, and every vbucket is on it. */
async function checkIdAndMap(node: NodeProcess): Promise<void> {
  const pool = await read<{ nodes: { thisNode: boolean; nodeUUID: string }[] }>(node, '/pools/default');
  assert.deepEqual(
    pool.nodes.map(({ nodeUUID, thisNode }) => ({ nodeUUID, thisNode })),
    [{ nodeUUID: readFileSync(join(node.dataDir, 'node.id'), 'utf8'), thisNode: true }],
  );
  const { vBucketServerMap } = await read<{ vBucketServerMap: { vBucketMap: number[][] } }>(
    node,
    '/pools/default/b/travel',
  );
  assert.equal(vBucketServerMap.vBucketMap.length, 1024);
  assert.ok(vBucketServerMap.vBucketMap.every(([active]) => active === 0));
}

async function checkIndexAndFunction(cluster: Cluster): Promise<void> {
  const scan = 'SELECT RAW name FROM travel.inventory.airline WHERE name IS NOT MISSING';
  await eventually(async () => {
    assert.match(JSON.stringify((await cluster.query(`EXPLAIN ${scan}`)).rows), /"index":"by_name"/);
    assert.deepEqual((await cluster.query(scan)).rows, ['40-Mile Air']);
  });
  assert.deepEqual((await cluster.query('EXECUTE FUNCTION plus_one(41)')).rows, [42]);
}

async function compact(node: NodeProcess): Promise<void> {
  const path = '/pools/default/buckets/travel/controller/compactBucket';
  assert.equal((await node.request(path, 'POST')).status, 200);
  await eventually(async () => {
    const tasks = await read<{ type: string }[]>(node, '/pools/default/tasks');
    assert.ok(tasks.every(({ type }) => type !== 'bucket_compaction'));
  });
}

/** Returns the data folder. */
function unpacked(name: string): string {
  const parent = mkdtempSync(join(scratch, 'folder-'));
  execFileSync('tar', ['-xzf', join(folders, `${name}.tar.gz`), '-C', parent]);
  return join(parent, 'data-folder');
}

async function withNode(
  dataDir: string,
  use: (node: NodeProcess, cluster: Cluster) => Promise<void>,
): Promise<void> {
  await using node = await NodeProcess.start({ dataDir });
  const cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
  try {
    await use(node, cluster);
  } finally {
    await cluster.close();
  }
}

async function checkDocuments(travel: Bucket): Promise<void> {
  const collection = travel.defaultCollection();
  const airline = await travel.scope('inventory').collection('airline').get('airline_10');
  assert.deepEqual(airline.content, { name: '40-Mile Air' });
  assert.deepEqual((await collection.get('plain')).content, [1, 2, 3]);
  assert.equal((await collection.get('counter')).content, 42);
  assert.equal((await collection.get('large')).content.text.length, 9000);
  assert.equal((await collection.exists('gone')).exists, false);
  const attribute = await collection.lookupIn('attributes', [LookupInSpec.get('_meta.by', { xattr: true })]);
  assert.equal(attribute.content[0]?.value, 'test');
  const expiring = await collection.get('brief', { withExpiry: true });
  assert.equal(expiring.expiryTime, Date.parse('2100-01-01T00:00:00Z') / 1000);
}

async function checkConfiguration(node: NodeProcess): Promise<void> {
  const buckets = await read<{ name: string; evictionPolicy: string }[]>(node, '/pools/default/buckets');
  assert.deepEqual(buckets.map(({ name }) => name).sort(), ['memory', 'travel', 'whole']);
  assert.equal(buckets.find(({ name }) => name === 'whole')?.evictionPolicy, 'fullEviction');
  const users = await read<{ id: string }[]>(node, '/settings/rbac/users/local');
  assert.deepEqual(
    users.map(({ id }) => id),
    ['app'],
  );
  const policy = await read<{ minLength: number }>(node, '/settings/passwordPolicy');
  assert.equal(policy.minLength, 5);
}

async function read<T>(node: NodeProcess, path: string): Promise<T> {
  const response = await node.request(path);
  assert.equal(response.status, 200, path);
  return (await response.json()) as T;
}
