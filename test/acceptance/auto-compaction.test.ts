// Automatic compaction of a bucket: the size of its files on disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataClient } from '../support/data-client.ts';
import type { KvConnection } from '../support/kv-connection.ts';
import { NodeProcess } from '../support/node-process.ts';

const documents = 300;
const opcodeSet = 1;
const waitLimitMs = 240_000;

async function write(to: KvConnection, bytes: number): Promise<void> {
  const value = Buffer.alloc(bytes, 'v');
  for (let vb = 0; vb < documents; vb++) {
    const frame = { opcode: opcodeSet, vb, key: Buffer.from('k'), extras: Buffer.alloc(8), value };
    assert.equal((await to.ask(frame)).status, 0);
  }
}

const diskUsed = async (node: NodeProcess): Promise<number> => {
  const response = await node.request('/pools/default/buckets/b');
  return ((await response.json()) as { basicStats: { diskUsed: number } }).basicStats.diskUsed;
};

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + waitLimitMs;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

test('compacts a bucket automatically after its documents became smaller', async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const b = await dataClient(node, 'b', []);
  await write(b, 60_000);
  const written = documents * 60_000;
  await until(async () => (await diskUsed(node)) > written, 'the documents are not on disk');
  await write(b, 10);
  await until(async () => (await diskUsed(node)) < written / 4, 'the bucket did not shrink');
  const values = await b.ask({ opcode: 0, vb: 7, key: Buffer.from('k') });
  assert.deepEqual([values.status, values.value.length], [0, 10]);
  b.close();
});
