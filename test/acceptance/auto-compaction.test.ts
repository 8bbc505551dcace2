// Automatic compaction of a bucket: the size of its files on disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { dataClient, get, set } from '../support/data-client.ts';
import type { KvConnection } from '../support/kv-connection.ts';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';

const documents = 300;
const largeBytes = 60_000;
const smallBytes = 10;
const waitLimitMs = 240_000;

/** One document in each of the first vbuckets. */
async function write(client: KvConnection, bytes: number): Promise<void> {
  const value = Buffer.alloc(bytes, 'v');
  for (let vb = 0; vb < documents; vb++)
    assert.equal((await client.ask(set('k', value, { vb }))).status, Status.success);
}

const diskUsed = async (node: NodeProcess): Promise<number> => {
  const response = await node.request('/pools/default/buckets/b');
  return ((await response.json()) as { basicStats: { diskUsed: number } }).basicStats.diskUsed;
};

test('compacts a bucket automatically after its documents became smaller', async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const client = await dataClient(node);
  await write(client, largeBytes);
  const written = documents * largeBytes;
  await eventuallyWithin(waitLimitMs, async () =>
    assert.ok((await diskUsed(node)) > written, 'the documents are not on disk'),
  );
  await write(client, smallBytes);
  await eventuallyWithin(waitLimitMs, async () =>
    assert.ok((await diskUsed(node)) < written / 4, 'the bucket did not shrink'),
  );
  const { status, value } = await client.ask(get('k', { vb: documents - 1 }));
  assert.deepEqual([status, value.length], [Status.success, smallBytes]);
  client.close();
});
