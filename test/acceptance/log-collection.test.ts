// A support bundle of a real node: the log and the audit log as on disk, unpacked by a standard program.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { unzip } from '../support/unzip.ts';

test('a support bundle holds the log of the node, and the audit log on request', async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const send = async (path: string, fields: Record<string, string>) =>
    assert.equal((await node.request(path, 'POST', fields)).status, 200, path);
  await send('/settings/audit', { auditdEnabled: 'true' });
  await send('/pools/default', { clusterName: 'audited' });
  await send('/controller/startLogsCollection', { nodes: '*', auditLog: 'true' });
  const path = await eventually(async () => {
    const tasks = (await (await node.request('/pools/default/tasks')).json()) as {
      type: string;
      perNode: Record<string, { status: string; path: string }>;
    }[];
    const task = tasks.find(({ type }) => type === 'clusterLogsCollection');
    const [collected] = Object.values(task?.perNode ?? {});
    assert.equal(collected?.status, 'collected');
    return collected.path;
  });
  assert.ok(path.startsWith(join(node.dataDir, 'tmp')));
  assert.equal(statSync(path).mode & 0o077, 0);
  const files = unzip(readFileSync(path));
  assert.match(files.get('logs/node.log') ?? '', /"msg":"node\.ready"/);
  assert.match(files.get('logs/audit.log') ?? '', /"id":8240/);
  assert.match(files.get('logs/audit.log') ?? '', /"id":8238/);
  assert.match(files.get('rest/metrics.txt') ?? '', /kv_curr_items|kv_/);
  assert.match(files.get('disk_sizes.json') ?? '', /"config\.db": \d+/);
  // Standard error has its own level, `warn` by default.
  assert.doesNotMatch(node.output, /node\.ready/);
});
