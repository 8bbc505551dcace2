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
  test(`opens a folder of ${version} after a clean stop`, async () => {
    await withFolder(version, async (node, cluster) => {
      await checkDocuments(cluster.bucket('travel'));
      await checkConfiguration(node);
    });
  });

  test(`opens a folder of ${version} after kill -9, with every durable write`, async () => {
    await withFolder(`${version}-killed`, async (node, cluster) => {
      await checkDocuments(cluster.bucket('travel'));
      await checkConfiguration(node);
      const collection = cluster.bucket('travel').defaultCollection();
      const durable = await Promise.all([0, 1, 2, 3, 4].map((i) => collection.get(`durable-${i}`)));
      assert.deepEqual(
        durable.map(({ content }) => content),
        [0, 1, 2, 3, 4].map((i) => ({ i })),
      );
    });
  });

  test(`compacts a folder of ${version} and reads it afterwards`, async () => {
    const parent = mkdtempSync(join(scratch, 'folder-'));
    execFileSync('tar', ['-xzf', join(folders, `${version}.tar.gz`), '-C', parent]);
    const dataDir = join(parent, 'data-folder');
    {
      await using node = await NodeProcess.start({ dataDir });
      const path = '/pools/default/buckets/travel/controller/compactBucket';
      assert.equal((await node.request(path, 'POST')).status, 200);
      await eventually(async () => {
        const tasks = await read<{ type: string }[]>(node, '/pools/default/tasks');
        assert.ok(tasks.every(({ type }) => type !== 'bucket_compaction'));
      });
    }
    await using node = await NodeProcess.start({ dataDir });
    const cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    try {
      await checkDocuments(cluster.bucket('travel'));
    } finally {
      await cluster.close();
    }
  });
}

test('the node of an older folder keeps its id in the folder from its next start on', async () => {
  await withFolder('0.1.0', async (node) => {
    const pool = await read<{ nodes: { thisNode: boolean; nodeUUID: string }[] }>(node, '/pools/default');
    assert.deepEqual(
      pool.nodes.map(({ nodeUUID, thisNode }) => ({ nodeUUID, thisNode })),
      [{ nodeUUID: readFileSync(join(node.dataDir, 'node.id'), 'utf8'), thisNode: true }],
    );
  });
});

test('buckets of an older folder get a map that has every vbucket on the node', async () => {
  await withFolder('0.1.0', async (node) => {
    const { vBucketServerMap } = await read<{ vBucketServerMap: { vBucketMap: number[][] } }>(
      node,
      '/pools/default/b/travel',
    );
    assert.equal(vBucketServerMap.vBucketMap.length, 1024);
    assert.ok(vBucketServerMap.vBucketMap.every(([active]) => active === 0));
  });
});

for (const folder of ['0.2.0', '0.2.0-killed']) {
  test(`answers from the index and the function in the folder ${folder}`, async () => {
    await withFolder(folder, async (_, cluster) => {
      const scan = 'SELECT RAW name FROM travel.inventory.airline WHERE name IS NOT MISSING';
      await eventually(async () => {
        assert.match(JSON.stringify((await cluster.query(`EXPLAIN ${scan}`)).rows), /"index":"by_name"/);
        assert.deepEqual((await cluster.query(scan)).rows, ['40-Mile Air']);
      });
      assert.deepEqual((await cluster.query('EXECUTE FUNCTION plus_one(41)')).rows, [42]);
    });
  });
}

async function withFolder(
  name: string,
  use: (node: NodeProcess, cluster: Cluster) => Promise<void>,
): Promise<void> {
  const parent = mkdtempSync(join(scratch, 'folder-'));
  execFileSync('tar', ['-xzf', join(folders, `${name}.tar.gz`), '-C', parent]);
  await using node = await NodeProcess.start({ dataDir: join(parent, 'data-folder') });
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
