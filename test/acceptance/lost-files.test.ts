// Files of a data folder that were removed or replaced: the node names them, does not replace them by new ones, and
// acknowledges nothing that would be lost.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Status } from '#wire/status.ts';
import { dataClient, get, persisted, set } from '../support/data-client.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-lost-files-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const count = 200;
let folders = 0;

/**
 * A folder of a stopped or killed node with durable documents in `b`. `last`: the size of a further document, of vbucket 1. A large one is
 * committed to the rows of its file at once, with everything before it; the others are in the log of cuts until a clean stop.
 */
async function aFolder(signal: NodeJS.Signals, last?: { bytes: number }): Promise<string> {
  const dataDir = join(scratch, String(++folders));
  await using node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b', '--bucket', 'other'] });
  const client = await dataClient(node);
  for (let i = 0; i < count; i++) {
    const written = await client.ask(set(`k${i}`, '{"a":1}', { vb: i, framing: persisted }));
    assert.equal(written.status, Status.success);
  }
  if (last !== undefined) {
    const value = JSON.stringify('x'.repeat(last.bytes));
    const written = await client.ask(set('last', value, { vb: 1, framing: persisted }));
    assert.equal(written.status, Status.success);
  }
  client.close();
  await node.stop(signal);
  return dataDir;
}

/** How many documents a node on the folder serves. */
async function countServed(dataDir: string): Promise<number> {
  await using node = await NodeProcess.start({ dataDir });
  const client = await dataClient(node);
  let found = 0;
  for (let i = 0; i < count; i++)
    if ((await client.ask(get(`k${i}`, { vb: i }))).status === Status.success) found++;
  return found;
}

const losses: Record<string, (folder: string) => void> = {
  'that is missing': (folder) => rmSync(folder, { recursive: true }),
  'that is empty': (folder) => {
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
  },
};

for (const [what, lose] of Object.entries(losses)) {
  test(`a node names a bucket folder ${what} as damaged, and serves its documents once the folder is restored`, async () => {
    const dataDir = await aFolder('SIGTERM');
    const buckets = join(dataDir, 'buckets');
    const backup = join(dataDir, 'backup');
    renameSync(buckets, backup);
    mkdirSync(buckets);
    for (const uuid of readdirSync(backup)) {
      mkdirSync(join(buckets, uuid));
      lose(join(buckets, uuid));
    }
    {
      await using node = await NodeProcess.start({ dataDir });
      await eventually(() =>
        assert.match(node.output, /damaged +bucket "b": .*: its (folder is missing|files are missing)/),
      );
      await eventually(() => assert.match(node.output, /damaged +bucket "other": /));
      await eventually(async () => {
        const { nodes } = (await (await node.request('/pools/default')).json()) as {
          nodes: { status: string }[];
        };
        assert.equal(nodes[0]?.status, 'unhealthy');
      });
      const statuses = (await (await node.request('/nodeStatuses')).json()) as Record<
        string,
        { status: string }
      >;
      assert.deepEqual(
        Object.values(statuses).map(({ status }) => status),
        ['unhealthy'],
      );
      assert.match(
        await (await node.request('/metrics')).text(),
        /^kv_bucket_damaged_files\{bucket="b"\} 4/m,
      );
    }
    for (const uuid of readdirSync(buckets)) assert.deepEqual(readdirSync(join(buckets, uuid)), []);
    rmSync(buckets, { recursive: true });
    renameSync(backup, buckets);
    assert.equal(await countServed(dataDir), count);
  });
}

test('a bucket with a lost folder can be flushed, and is then empty and usable', async () => {
  const dataDir = await aFolder('SIGTERM');
  {
    await using node = await NodeProcess.start({ dataDir });
    await node.request('/pools/default/buckets/b', 'POST', { flushEnabled: '1' });
    await node.stop();
  }
  rmSync(join(dataDir, 'buckets'), { recursive: true });
  {
    await using node = await NodeProcess.start({ dataDir });
    await eventually(() => assert.match(node.output, /damaged +bucket "b"/));
    const flushed = await node.request('/pools/default/buckets/b/controller/doFlush', 'POST');
    assert.equal(flushed.status, 200, await flushed.text());
    const client = await dataClient(node);
    assert.equal((await client.ask(set('k', '1', { framing: persisted }))).status, Status.success);
    await node.stop();
  }
  await using node = await NodeProcess.start({ dataDir });
  assert.doesNotMatch(node.output, /damaged +bucket "b"/);
  const client = await dataClient(node);
  assert.equal((await client.ask(get('k'))).status, Status.success);
});

for (const [log, suffix, bytes, expectedCount] of [
  ['write-ahead log', '-wal', 200_000, 2],
  ['log of cuts', '-cuts', 1, 1],
] as const)
  test(`after a kill, documents of a file whose ${log} was removed are refused, not reported as missing`, async () => {
    const dataDir = await aFolder('SIGKILL', { bytes });
    const logs = readdirSync(join(dataDir, 'buckets'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith(`data-1.1.db${suffix}`),
    );
    assert.equal(logs.length, expectedCount);
    for (const path of logs) rmSync(join(dataDir, 'buckets', path));
    await using node = await NodeProcess.start({ dataDir });
    await eventually(() =>
      assert.match(
        node.output,
        /damaged +bucket "b": .*data-1\.1\.db: the last \d+ of its \d+ commits are missing: its write-ahead log was lost/,
      ),
    );
    const client = await dataClient(node);
    const statuses = new Map<number, number>();
    for (let i = 0; i < count; i++) {
      const { status } = await client.ask(get(`k${i}`, { vb: i }));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    // The damaged file has a quarter of the vbuckets.
    const refused = count / 4;
    assert.deepEqual(Object.fromEntries(statuses), {
      [Status.success]: count - refused,
      [Status.temporaryFailure]: refused,
    });
  });

test('a node acknowledges nothing once its lock file was removed, while another node uses the folder', async () => {
  const dataDir = join(scratch, 'two');
  await using first = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
  const client = await dataClient(first);
  assert.equal((await client.ask(set('before', '1', { framing: persisted }))).status, Status.success);
  rmSync(join(dataDir, 'lock.db'));
  await using second = await NodeProcess.start({ dataDir });
  client.send(set('after', '1', { framing: persisted }));
  const refused = await first.request('/pools/default/buckets/b/scopes', 'POST', { name: 's' });
  assert.equal(refused.status, 500);
  assert.match(await refused.text(), /Nothing was changed: .*lock\.db was removed or replaced/);
  await eventually(async () => {
    const { alerts } = (await (await first.request('/pools/default')).json()) as {
      alerts: { msg: string }[];
    };
    assert.ok(
      alerts.some(({ msg }) => /lock\.db was removed or replaced/.test(msg)),
      JSON.stringify(alerts),
    );
  });
  const reply = await client.next();
  const notAcknowledged: readonly unknown[] = [Status.syncWriteAmbiguous, Status.temporaryFailure];
  assert.ok(notAcknowledged.includes(reply?.status), String(reply?.status));
  const again = await dataClient(second);
  assert.equal((await again.ask(get('before'))).status, Status.success);
  assert.equal((await again.ask(set('k', '1', { framing: persisted }))).status, Status.success);
});
