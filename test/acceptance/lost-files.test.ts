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
 * A folder of a stopped or killed node with durable documents in `b` and one in `other`, and the ids of these buckets. `last`: the size of a further document, of vbucket 1. A large one is
 * committed to the rows of its file at once, with everything before it; the others are in the log of cuts until a clean stop.
 */
async function aFolder(
  signal: NodeJS.Signals,
  last?: { bytes: number },
): Promise<{ dataDir: string; uuids: { b: string; other: string } }> {
  const dataDir = join(scratch, String(++folders));
  await using node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b', '--bucket', 'other'] });
  const client = await dataClient(node);
  for (let i = 0; i < count; i++) {
    const written = await client.ask(set(`k${i}`, '{"a":1}', { vb: i, framing: persisted }));
    assert.equal(written.status, Status.success);
  }
  const inOther = await (await dataClient(node, 'other')).ask(set('k0', '1', { framing: persisted }));
  assert.equal(inOther.status, Status.success);
  if (last !== undefined) {
    const value = JSON.stringify('x'.repeat(last.bytes));
    const written = await client.ask(set('last', value, { vb: 1, framing: persisted }));
    assert.equal(written.status, Status.success);
  }
  client.close();
  const uuids = { b: await uuidOf(node, 'b'), other: await uuidOf(node, 'other') };
  // For the test of a flush.
  const flushable = await node.request('/pools/default/buckets/b', 'POST', { flushEnabled: '1' });
  assert.equal(flushable.status, 200);
  await node.stop(signal);
  return { dataDir, uuids };
}

async function uuidOf(node: NodeProcess, bucket: string): Promise<string> {
  const described = await node.request(`/pools/default/buckets/${bucket}`);
  return ((await described.json()) as { uuid: string }).uuid;
}

/** How many documents of each bucket a node on the folder serves. */
async function countServed(dataDir: string): Promise<{ b: number; other: number }> {
  await using node = await NodeProcess.start({ dataDir });
  const found = { b: 0, other: 0 };
  for (const bucket of ['b', 'other'] as const) {
    const client = await dataClient(node, bucket);
    for (let i = 0; i < count; i++)
      if ((await client.ask(get(`k${i}`, { vb: i }))).status === Status.success) found[bucket]++;
  }
  return found;
}

test('a node names bucket folders that are missing or empty as damaged, and serves their documents once they are restored', async () => {
  const { dataDir, uuids } = await aFolder('SIGTERM');
  const buckets = join(dataDir, 'buckets');
  const backup = join(dataDir, 'backup');
  renameSync(buckets, backup);
  mkdirSync(buckets);
  mkdirSync(join(buckets, uuids.other));
  {
    await using node = await NodeProcess.start({ dataDir });
    await eventually(() => assert.match(node.output, /damaged +bucket "b": .*: its folder is missing/));
    await eventually(() => assert.match(node.output, /damaged +bucket "other": .*: its files are missing/));
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
    const metrics = await (await node.request('/metrics')).text();
    for (const bucket of ['b', 'other'])
      assert.match(metrics, new RegExp(`^kv_bucket_damaged_files\\{bucket="${bucket}"\\} 4`, 'm'));
  }
  assert.deepEqual(readdirSync(buckets), [uuids.other]);
  assert.deepEqual(readdirSync(join(buckets, uuids.other)), []);
  rmSync(buckets, { recursive: true });
  renameSync(backup, buckets);
  assert.deepEqual(await countServed(dataDir), { b: count, other: 1 });
});

test('a bucket with a lost folder can be flushed, and is then empty and usable', async () => {
  const { dataDir } = await aFolder('SIGTERM');
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
    const { dataDir } = await aFolder('SIGKILL', { bytes });
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
