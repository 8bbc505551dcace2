// Replication between two clusters of real processes: what arrives is exactly what was sent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import {
  clientOf,
  contentOf,
  createReplication,
  replicate,
  shown,
  taskOf,
  whenEqual,
} from '../support/xdcr.ts';

const timeout = 180_000;
const args = ['--bucket', 'b'];
const flags = 0x02000000;

const aNode = () => NodeProcess.start({ args });

async function createCollections(node: NodeProcess, names: readonly string[]): Promise<void> {
  await node.request('/pools/default/buckets/b/scopes', 'POST', { name: 's' });
  for (const name of names)
    await node.request('/pools/default/buckets/b/scopes/s/collections', 'POST', { name }).then(shown);
}

const aDocument = (index: number): StoreRequest => ({
  kind: 'set',
  key: `key-${index}`,
  value: Buffer.from(JSON.stringify({ index, text: 'x'.repeat(index % 400) })),
  flags: index % 3 === 0 ? 17 : flags,
  expiry: index % 5 === 0 ? Math.floor(Date.now() / 1000) + 100_000 + index : 0,
  cas: 0n,
});

async function store(node: NodeProcess, collection: string | null, requests: readonly StoreRequest[]) {
  const client = await clientOf(node);
  const id = collection === null ? 0 : ((await client.collectionId('s', collection)) as number);
  const replies = await client.storeMany(id, requests);
  client.close();
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [0]);
}

test('20,000 documents of several collections arrive with all their metadata', { timeout }, async () => {
  await using source = await aNode();
  await using target = await aNode();
  const names = ['one', 'two', 'three'];
  for (const node of [source, target]) await createCollections(node, names);
  const all = Array.from({ length: 5000 }, (_, index) => aDocument(index));
  for (const name of [null, ...names]) await store(source, name, all);
  await replicate(source, target);
  const first = await whenEqual(source, target);
  assert.equal(first.size, 20_000);
  // Live: changes, deletions, binary values.
  await store(
    source,
    'two',
    all.slice(0, 500).map((one) => ({ ...one, value: Buffer.from([1, 2, 3, 255]) })),
  );
  await store(
    source,
    'three',
    all.slice(0, 500).map((one) => ({ ...one, kind: 'remove' as const, value: Buffer.alloc(0) })),
  );
  await whenEqual(source, target);
  await eventually(async () => {
    const task = await taskOf(source);
    assert.deepEqual([task.status, task.changesLeft, task.errors], ['running', 0, []]);
    assert.equal(task.docsWritten, 21_000);
  });
});
void contentOf;
void createReplication;
