// Tombstones are purged by each bucket's purge interval, with a clock that jumps.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { dataClient, keyOf, remove, set } from '../support/data-client.ts';
import type { KvConnection } from '../support/kv-connection.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Opcode } from '../support/opcodes.ts';

/** Loaded before the node's code in each thread: the clock jumps two days as soon as the file exists. */
const jumpWhen = (file: string) => {
  const code = `import { existsSync } from 'node:fs';
    const real = Date.now;
    Date.now = () => real() + (existsSync(${JSON.stringify(file)}) ? 2 * 86_400_000 : 0);`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
};

const ownSettings = { autoCompactionDefined: 'true', parallelDBAndViewCompaction: 'false' };
const buckets: Record<string, { form: Record<string, string>; isPurged: boolean }> = {
  'native-1': { form: { purgeInterval: '1', ...ownSettings }, isPurged: true },
  'native-4': { form: { purgeInterval: '4', ...ownSettings }, isPurged: false },
  'native-cluster': { form: {}, isPurged: false },
  'ephemeral-1': { form: { bucketType: 'ephemeral', purgeInterval: '1' }, isPurged: true },
  'ephemeral-4': { form: { bucketType: 'ephemeral', purgeInterval: '4' }, isPurged: false },
};

test('purges tombstones older than the purge interval of the bucket, or else of the cluster', async (t) => {
  const twoDaysLater = join(mkdtempSync(join(tmpdir(), 'divan-jump-')), 'now');
  t.after(() => rmSync(dirname(twoDaysLater), { recursive: true }));
  await using node = await NodeProcess.start({ environment: { NODE_OPTIONS: jumpWhen(twoDaysLater) } });
  const clients = new Map<string, KvConnection>();
  for (const [name, { form }] of Object.entries(buckets)) {
    const sent = { name, ramQuotaMB: '100', replicaNumber: '0', ...form };
    assert.equal((await node.request('/pools/default/buckets', 'POST', sent)).status, 202);
    clients.set(name, await deletedIn(node, name));
  }
  const purgedAfterCompaction = async () => {
    await Promise.all([...clients.keys()].map((name) => compact(node, name)));
    const checks = [...clients].map(async ([name, client]) => [name, await isPurged(client)]);
    return Object.fromEntries(await Promise.all(checks)) as Record<string, boolean>;
  };

  const none = Object.fromEntries(Object.keys(buckets).map((name) => [name, false]));
  assert.deepEqual(await purgedAfterCompaction(), none);
  writeFileSync(twoDaysLater, '');
  const expected = Object.fromEntries(
    Object.entries(buckets).map(([name, { isPurged }]) => [name, isPurged]),
  );
  assert.deepEqual(await purgedAfterCompaction(), expected);
  const form = { parallelDBAndViewCompaction: 'false', purgeInterval: '1' };
  assert.equal((await node.request('/controller/setAutoCompaction', 'POST', form)).status, 200);
  assert.deepEqual(await purgedAfterCompaction(), { ...expected, 'native-cluster': true });
  for (const client of clients.values()) client.close();
});

/** A client of the bucket, in which it has deleted a document. */
async function deletedIn(node: NodeProcess, bucket: string): Promise<KvConnection> {
  const client = await dataClient(node, bucket);
  assert.equal((await client.ask(set('k', ''))).status, Status.success);
  assert.equal((await client.ask(remove('k'))).status, Status.success);
  assert.equal(await isPurged(client), false);
  return client;
}

async function isPurged(client: KvConnection): Promise<boolean> {
  const reply = await client.ask({ opcode: Opcode.getMeta, key: keyOf('k') });
  if (reply.status === Status.keyNotFound) return true;
  const isDeleted = reply.extras.readUInt32BE(0);
  assert.deepEqual([reply.status, isDeleted], [Status.success, 1]);
  return false;
}

async function compact(node: NodeProcess, bucket: string): Promise<void> {
  await node.request(`/pools/default/buckets/${bucket}/controller/compactBucket`, 'POST');
  await eventually(async () => {
    const tasks = (await (await node.request('/pools/default/tasks')).json()) as { bucket?: string }[];
    assert.ok(tasks.every((task) => task.bucket !== bucket));
  });
}
