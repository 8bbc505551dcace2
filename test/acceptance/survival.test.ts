// Stops under load, damaged files, a full bucket and misbehaving clients, tested at the data port.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Feature } from '#wire/features.ts';
import { encodeRequest } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { clientFeatures } from '../support/client-features.ts';
import { dataClient, get, persisted, remove, set } from '../support/data-client.ts';
import type { KvConnection } from '../support/kv-connection.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

const folders: string[] = [];
const aFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-survival-'));
  folders.push(folder);
  return folder;
};
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

test('a clean stop under load keeps every acknowledged write, also those acknowledged from memory', async () => {
  const dataDir = aFolder();
  const acknowledged: string[] = [];
  {
    await using node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
    const clients = await Promise.all([dataClient(node), dataClient(node)]);
    const load = clients.map((client, index) => writeOn(client, `k${index}`, acknowledged));
    await eventually(() => assert.ok(acknowledged.length > 500));
    assert.equal(await node.stop('SIGTERM'), 0);
    await Promise.all(load);
  }
  await using node = await NodeProcess.start({ dataDir });
  const client = await dataClient(node);
  client.send(...acknowledged.map((name) => get(name)));
  for (const name of acknowledged) assert.equal((await client.next())?.status, Status.success, name);
  client.close();
});

/** Writes until the node stops. */
async function writeOn(client: KvConnection, prefix: string, acknowledged: string[]): Promise<void> {
  for (let i = 0; ; i++) {
    client.send(set(`${prefix}-${i}`, `{"i":${i}}`));
    const reply = await client.next();
    if (!reply) return;
    if (reply.status === Status.success) acknowledged.push(`${prefix}-${i}`);
  }
}

const vbucketCount = 1024;

test('a damaged file affects only its own vbuckets, and is reported', async () => {
  const flipped = (whole: Buffer): Buffer => {
    const bytes = Buffer.from(whole);
    for (let at = bytes.length >> 2; at < bytes.length; at += 997) bytes[at] = (bytes[at] as number) ^ 0xff;
    return bytes;
  };
  /** By the name of the bucket whose file is damaged. */
  const damages: Record<string, (whole: Buffer) => Buffer> = {
    flipped,
    'cut-short': (whole) => whole.subarray(0, Math.floor(whole.length * 0.6)),
    empty: () => Buffer.alloc(0),
    overwritten: (whole) => Buffer.alloc(whole.length, 0x5a),
  };
  const dataDir = aFolder();
  const uuids = await fill(dataDir, Object.keys(damages));
  const damaged = Object.entries(damages).map(([bucket, damage], index) => {
    const file = largeFiles(join(dataDir, 'buckets', uuids[index] as string))[1] as string;
    writeFileSync(file, damage(readFileSync(file)));
    return [bucket, file] as const;
  });
  await using node = await NodeProcess.start({ dataDir });
  const other = await dataClient(node, 'other');
  assert.equal((await other.ask(get('k'))).status, Status.success);
  for (const [bucket, file] of damaged) await checkDamaged(node, bucket, file);
});

/** A document in each vbucket of the buckets, one in `other`, and a clean stop. Returns the ids of the buckets. */
async function fill(dataDir: string, buckets: readonly string[]): Promise<string[]> {
  const args = [...buckets, 'other'].flatMap((name) => ['--bucket', name]);
  await using node = await NodeProcess.start({ dataDir, args });
  const value = `"${'x'.repeat(500)}"`;
  const uuids: string[] = [];
  for (const bucket of buckets) {
    const client = await dataClient(node, bucket);
    client.send(...Array.from({ length: vbucketCount }, (_, vb) => set('k', value, { vb })));
    for (let vb = 0; vb < vbucketCount; vb++) assert.equal((await client.next())?.status, Status.success);
    const described = await node.request(`/pools/default/buckets/${bucket}`);
    uuids.push(((await described.json()) as { uuid: string }).uuid);
  }
  const other = await dataClient(node, 'other');
  assert.equal((await other.ask(set('k', '1'))).status, Status.success);
  await node.stop();
  return uuids;
}

/** Data files that are larger than those of an empty bucket. */
const largeFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith('.db') && statSync(path).size > 100_000)
    .sort();

async function checkDamaged(node: NodeProcess, bucket: string, file: string): Promise<void> {
  const client = await dataClient(node, bucket);
  client.send(...Array.from({ length: vbucketCount }, (_, vb) => get('k', { vb })));
  const statuses = new Map<number, number>();
  for (let vb = 0; vb < vbucketCount; vb++) {
    const { status } = (await client.next()) ?? { status: -1 };
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  // The damaged file holds a quarter of the vbuckets.
  const expected = { [Status.success]: 768, [Status.temporaryFailure]: 256 };
  assert.deepEqual(Object.fromEntries(statuses), expected, bucket);
  await eventually(() => assert.match(node.output, new RegExp(`damaged +bucket "${bucket}": ${file}`)));
  await eventually(async () => {
    const { alerts } = (await (await node.request('/pools/default')).json()) as { alerts: { msg: string }[] };
    assert.ok(
      alerts.some(({ msg }) => msg.includes(file)),
      bucket,
    );
  });
}

test('a full bucket refuses writes, still reads, and accepts writes again after deletes', async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'm:ephemeral:100'] });
  const client = await dataClient(node, 'm');
  const value = Buffer.alloc(1_000_000, 0x41);
  let stored = 0;
  let status: number = Status.success;
  for (; status === Status.success && stored < 200; stored++) {
    status = (await client.ask(set(`k${stored}`, value))).status;
  }
  assert.equal(status, Status.temporaryFailure);
  assert.ok(stored > 60, `full after ${stored} MB`);
  assert.equal((await client.ask(get('k0'))).value.length, value.length);
  for (let i = 0; i < 10; i++) assert.equal((await client.ask(remove(`k${i}`))).status, Status.success);
  await eventually(async () => assert.equal((await client.ask(set('again', value))).status, Status.success));
  client.close();
});

describe('misbehaving clients', () => {
  let node: NodeProcess;
  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  });
  after(() => node?.[Symbol.asyncDispose]());

  test('ten thousand requests in one write are answered in order', async () => {
    const client = await dataClient(node);
    const requests = Array.from({ length: 10_000 }, (_, i) => {
      const rest = { opaque: i, ...(i % 100 === 0 && { framing: persisted }) };
      return i % 2 === 0 ? set(`k${i}`, String(i), rest) : get(`k${i - 1}`, { opaque: i });
    });
    client.send(...requests);
    for (let i = 0; i < requests.length; i++) {
      const reply = await client.next();
      assert.deepEqual([reply?.opaque, reply?.status], [i, Status.success]);
      if (i % 2 === 1) assert.equal(reply?.value.toString(), String(i - 1));
    }
    client.close();
  });

  test('a client that sends byte by byte is served', async () => {
    const client = await dataClient(node);
    const bytes = Buffer.concat([set('k', '1', { framing: persisted }), get('k')].map(encodeRequest));
    for (const byte of bytes) {
      client.socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal((await client.next())?.status, Status.success);
    assert.equal((await client.next())?.value.toString(), '1');
    client.close();
  });

  test('clients that disconnect during durable writes leave no document locked', async () => {
    for (let round = 0; round < 20; round++) {
      const client = await dataClient(node, 'b', [...clientFeatures, Feature.unorderedExecution]);
      client.send(...Array.from({ length: 20 }, (_, i) => set(`k${i}`, '1', { framing: persisted })));
      await new Promise((resolve) => setImmediate(resolve));
      if (round % 2 === 0) client.socket.resetAndDestroy();
      else client.close();
    }
    const client = await dataClient(node);
    for (let i = 0; i < 20; i++) {
      await eventually(async () =>
        assert.equal((await client.ask(set(`k${i}`, '2'))).status, Status.success),
      );
    }
    client.close();
  });

  test('a client that requests much and reads nothing uses less than 100 MB, and other clients are still served', async () => {
    const paused = await dataClient(node);
    await paused.ask(set('large', Buffer.alloc(1024 * 1024, 0x41)));
    const before = residentMb(node.pid);
    paused.socket.pause();
    paused.send(...Array.from({ length: 2000 }, () => get('large')));
    const other = await dataClient(node);
    for (let i = 0; i < 200; i++) assert.equal((await other.ask(set('k', '1'))).status, Status.success);
    const grown = residentMb(node.pid) - before;
    assert.ok(grown < 100, `grown by ${grown} MB`);
    paused.close();
    other.close();
  });
});

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) >> 10;
