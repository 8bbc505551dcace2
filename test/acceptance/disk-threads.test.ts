// The number of disk threads that the operating system shows follows the data service's settings.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { dataClient, get, keyOf, persisted, set } from '../support/data-client.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Opcode } from '../support/opcodes.ts';

const path = '/pools/default/settings/memcached/global';
const filesPerBucket = 4;
/** Large enough that evicting it frees memory. */
const text = 'x'.repeat(1000);

/** The operating system truncates names of threads to fifteen characters. */
function threadsOf(node: NodeProcess, name: string): number {
  const tasks = `/proc/${node.pid}/task`;
  const names = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/comm`, 'utf8').trim());
  return names.filter((found) => found === name).length;
}

async function change(node: NodeProcess, settings: Record<string, string>): Promise<void> {
  const { status } = await node.request(path, 'POST', settings);
  assert.equal(status, 202);
}

async function addBucket(node: NodeProcess, name: string): Promise<void> {
  const form = { name, ramQuotaMB: '100', replicaNumber: '0' };
  const { status } = await node.request('/pools/default/buckets', 'POST', form);
  assert.equal(status, 202);
}

/** Evicts a document of each file of the bucket, and reads these documents concurrently, each with a client of its own. */
async function fetchFromEachFile(node: NodeProcess, bucket: string): Promise<void> {
  const vbuckets = Array.from({ length: filesPerBucket }, (_, file) => file);
  const clients = await Promise.all(vbuckets.map(() => dataClient(node, bucket)));
  for (const [vb, client] of clients.entries()) {
    const stored = await client.ask(set('document', text, { vb, framing: persisted }));
    const evicted = await client.ask({ opcode: Opcode.evictKey, key: keyOf('document'), vb });
    assert.deepEqual([stored.status, evicted.status], [0, 0]);
  }
  const replies = await Promise.all(clients.map((client, vb) => client.ask(get('document', { vb }))));
  for (const { value } of replies) assert.equal(value.toString(), text);
  for (const client of clients) client.close();
}

test('one thread reads and one writes by default, or as many as an administrator sets, also after kill -9', async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await fetchFromEachFile(node, 'b');
  assert.deepEqual([threadsOf(node, 'disk writer'), threadsOf(node, 'disk reader')], [1, 1]);
  await change(node, { num_reader_threads: '3', num_writer_threads: 'disk_io_optimized' });
  await eventually(async () => {
    await fetchFromEachFile(node, 'b');
    assert.equal(threadsOf(node, 'disk reader'), 3);
  });
  assert.equal(threadsOf(node, 'disk writer'), 1);
  await addBucket(node, 'c');
  await fetchFromEachFile(node, 'c');
  assert.ok(threadsOf(node, 'disk writer') >= filesPerBucket);
  await change(node, { num_reader_threads: 'default', num_writer_threads: '2' });
  await eventually(() => assert.equal(threadsOf(node, 'disk reader'), 1));
  await node.stop('SIGKILL');
  await using again = await NodeProcess.start({ dataDir: node.dataDir });
  await fetchFromEachFile(again, 'c');
  assert.deepEqual([threadsOf(again, 'disk writer'), threadsOf(again, 'disk reader')], [2, 1]);
});
