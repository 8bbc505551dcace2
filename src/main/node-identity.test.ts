import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { clusterKey } from '#cluster/config/cluster-state.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster } from '../../test/support/cluster.ts';
import { DataFolder } from './data-folder.ts';
import { ownIdentity } from './node-identity.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-identity-'));
after(() => rmSync(scratch, { recursive: true }));

const aFolder = () => DataFolder.open(mkdtempSync(join(scratch, 'folder-')), realRandom);

async function withNodes(...uuids: string[]) {
  const store = new MemoryConfigStore();
  const [node] = aCluster().nodes;
  const nodes = uuids.map((uuid) => ({ ...node, uuid }));
  if (nodes.length > 0) await store.put(clusterKey, { ...aCluster(), nodes }, 0);
  return store;
}

test('a new folder gets a node id at its first start and keeps it; every start has another boot id', async () => {
  const folder = aFolder();
  const first = await ownIdentity(folder, await withNodes(), realRandom);
  assert.match(first.nodeId, /^[0-9a-f]{32}$/);
  const second = await ownIdentity(folder, await withNodes('other', first.nodeId), realRandom);
  assert.equal(second.nodeId, first.nodeId);
  assert.notEqual(second.bootId, first.bootId);
});

test('a folder of a version without node ids gets the id of the only node in its configuration', async () => {
  const folder = aFolder();
  assert.equal((await ownIdentity(folder, await withNodes('first'), realRandom)).nodeId, 'first');
  assert.equal(folder.nodeId, 'first');
});

test('a node refuses a folder whose files belong to different nodes, and changes nothing', async () => {
  const folder = aFolder();
  await assert.rejects(
    async () => ownIdentity(folder, await withNodes('one', 'two'), realRandom),
    /node\.id of the data folder .* is missing, and its config\.db has 2 nodes/,
  );
  assert.equal(folder.nodeId, null);
  writeFileSync(join(folder.path, 'node.id'), 'mine');
  await assert.rejects(
    async () => ownIdentity(folder, await withNodes('one'), realRandom),
    /has no node mine, which its node\.id names/,
  );
  assert.equal(folder.nodeId, 'mine');
});
