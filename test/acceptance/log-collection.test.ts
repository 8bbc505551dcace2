// A support bundle of a real node: the log and the audit log as on disk, unpacked by a standard program.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addNode } from '../support/join-nodes.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { unzip } from '../support/unzip.ts';

const startPath = '/controller/startLogsCollection';

interface Task {
  type: string;
  status: string;
  perNode: Record<string, { status: string; path?: string; collectionOutput?: string }>;
}

const taskOf = async (node: NodeProcess): Promise<Task | undefined> => {
  const tasks = (await (await node.request('/pools/default/tasks')).json()) as Task[];
  return tasks.find(({ type }) => type === 'clusterLogsCollection');
};

test('a support bundle has the log of the node, and the audit log on request', async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const send = async (path: string, fields: Record<string, string>) =>
    assert.equal((await node.request(path, 'POST', fields)).status, 200, path);
  await send('/settings/audit', { auditdEnabled: 'true' });
  await send('/pools/default', { clusterName: 'audited' });
  await send(startPath, { nodes: '*', auditLog: 'true' });
  const path = await eventually(async () => {
    const [collected] = Object.values((await taskOf(node))?.perNode ?? {});
    assert.equal(collected?.status, 'collected');
    return collected.path as string;
  });
  assert.ok(path.startsWith(join(node.dataDir, 'tmp')));
  assert.equal(statSync(path).mode & 0o077, 0);
  const files = unzip(readFileSync(path));
  assert.match(files.get('logs/node.log') ?? '', /"msg":"node\.ready"/);
  for (const name of ['configured audit daemon', 'start log collection'])
    assert.match(files.get('logs/audit.log') ?? '', new RegExp(`"name":"${name}"`));
  assert.match(files.get('rest/metrics.txt') ?? '', /^kv_curr_items\{bucket="b"\}/m);
  assert.match(files.get('disk_sizes.json') ?? '', /"config\.db": \d+/);
  // Standard error has its own level, `warn` by default.
  assert.doesNotMatch(node.output, /node\.ready/);
});

test('each node of a cluster writes its own bundle, and one that is down is reported as failed', async () => {
  await using first = await NodeProcess.start({ args: ['--services', 'kv'] });
  await using second = await NodeProcess.start({ unprovisioned: true });
  await addNode(first, second);
  const collected = async () => {
    assert.equal((await first.request(startPath, 'POST', { nodes: '*' })).status, 200);
    return await eventually(async () => {
      const task = await taskOf(first);
      assert.equal(task?.status, 'completed');
      return Object.values(task?.perNode ?? {});
    });
  };
  const [own, other] = await collected();
  assert.deepEqual([own?.status, other?.status], ['collected', 'collected']);
  assert.ok(own?.path?.startsWith(join(first.dataDir, 'tmp')));
  assert.ok(other?.path?.startsWith(join(second.dataDir, 'tmp')));
  const files = unzip(readFileSync(other?.path ?? ''));
  assert.match(files.get('logs/node.log') ?? '', /"msg":"node\.ready"/);
  assert.match(files.get('disk_sizes.json') ?? '', /"config-copy\.db": \d+/);
  await second.stop('SIGKILL');
  const [again, down] = await collected();
  assert.deepEqual([again?.status, down?.status, down?.path], ['collected', 'failed', undefined]);
  assert.ok(down?.collectionOutput);
});
