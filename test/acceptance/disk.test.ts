// A node whose disk is full, fails to sync, or has damaged files.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { dataClient, get, persisted, set } from '../support/data-client.ts';
import { fillDisk, fillDiskThrough } from '../support/fill-disk.ts';
import type { KvConnection } from '../support/kv-connection.ts';
import { needs } from '../support/needs.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

/** The disk space that a node reserves for changes that free space. */
const reserveBytes = 8 << 20;
const { success, temporaryFailure } = Status;
const args = ['--bucket', 'b', '--bucket', 'other'];
const client = (node: NodeProcess, bucket = 'b'): Promise<KvConnection> => dataClient(node, bucket);

const write = async (to: KvConnection, key: string, value: string | Buffer, vb = 0): Promise<number> =>
  (await to.ask(set(key, value, { vb }))).status;
const writeDurably = async (to: KvConnection, key: string, value: string, vb = 0): Promise<number> =>
  (await to.ask(set(key, value, { vb, framing: persisted }))).status;
const read = (from: KvConnection, key: string, vb = 0) => from.ask(get(key, { vb }));

test('the node refuses writes while the disk is full, loses nothing, and opens its buckets after a kill once there is space', {
  skip: needs('mount'),
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'divan-test', dataDir]);
  const ballast = join(dataDir, 'ballast');
  const value = Buffer.alloc(50_000, 'v');
  let stored = 0;
  try {
    await using node = await NodeProcess.start({ dataDir, args });
    const b = await client(node);
    for (; stored < 20; stored++) assert.equal(await write(b, `k${stored}`, value), success);
    assert.equal(await writeDurably(b, 'durable', 'v'), success);
    fillDisk(ballast);
    await eventually(async () => {
      const status = await write(b, `k${stored}`, value);
      if (status === success) stored++;
      assert.equal(status, temporaryFailure);
    });
    for (let i = 0; i < stored; i++) assert.equal((await read(b, `k${i}`)).value.length, value.length);
    await eventually(() => assert.match(node.output, /disk\.full/));
    await eventually(async () => {
      const refused = await node.request('/internalSettings', 'POST', { maxBucketCount: '20' });
      assert.equal(await refused.text(), '["Nothing was changed: the disk of the data folder is full."]');
    });
    rmSync(ballast);
    await eventually(async () => assert.equal(await writeDurably(b, 'after', 'v'.repeat(50_000)), success));
    b.close();
    await node.stop('SIGKILL');
    truncateSync(join(dataDir, 'reserve'), 1024 * 1024);
    fillDisk(ballast);
    await using again = await NodeProcess.start({ dataDir, args });
    await eventually(async () => assert.equal((await healthOf(again)).bucket, 'unhealthy'));
    assert.match(
      again.output,
      /bucket "b" waits for disk space to open .*: \d+ KiB are needed, \d+ KiB are free/,
    );
    assert.doesNotMatch(again.output, /bucket\.damaged/);
    rmSync(ballast);
    await eventually(async () => assert.equal((await healthOf(again)).bucket, 'healthy'));
    const c = await client(again);
    for (let i = 0; i < stored; i++) assert.equal((await read(c, `k${i}`)).value.length, value.length);
    assert.equal((await read(c, 'after')).value.length, value.length);
    c.close();
    await again.stop();
  } finally {
    execFileSync('umount', ['--lazy', dataDir]);
    rmSync(dataDir, { recursive: true });
  }
});

test('a node starts on a full disk, reads, refuses writes with the reason, and accepts them once there is space', {
  skip: needs('mount'),
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'divan-test', dataDir]);
  const ballast = join(dataDir, 'ballast');
  const value = Buffer.alloc(50_000, 'v');
  try {
    await using node = await NodeProcess.start({ dataDir, args });
    const b = await client(node);
    for (let i = 0; i < 20; i++) assert.equal(await write(b, `k${i}`, value), success);
    b.close();
    assert.equal(await node.stop(), 0);
    fillDisk(ballast);
    await using again = await NodeProcess.start({ dataDir });
    const c = await client(again);
    for (let i = 0; i < 20; i++) assert.equal((await read(c, `k${i}`)).value.length, value.length);
    await eventually(async () => {
      const status = await write(c, 'more', Buffer.alloc(1_000_000, 'v'));
      assert.equal(status, temporaryFailure);
    });
    await eventually(() => assert.match(again.output, /disk\.full/));
    assert.equal((await read(c, 'k0')).value.length, value.length);
    rmSync(ballast);
    await eventually(async () => assert.equal(await write(c, 'after', value), success));
    c.close();
    assert.equal(await again.stop(), 0);
  } finally {
    execFileSync('umount', ['--lazy', dataDir]);
    rmSync(dataDir, { recursive: true });
  }
});

test('the node deletes and flushes buckets on a full disk, which frees space for the others', {
  skip: needs('mount'),
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'divan-test', dataDir]);
  try {
    await using node = await NodeProcess.start({ dataDir, args: [...args, '--bucket', 'third'] });
    const at = '/pools/default/buckets';
    assert.equal((await node.request(`${at}/other`, 'POST', { flushEnabled: '1' })).status, 200);
    assert.equal((await node.request(`${at}/third/scopes`, 'POST', { name: 's' })).status, 200);
    for (const bucket of ['other', 'b']) await storeMegabytes(node, bucket, 15);
    const ballast = openSync(join(dataDir, 'ballast'), 'w');
    const [b, third] = [await client(node, 'b'), await client(node, 'third')];
    const assertFull = async (): Promise<void> => {
      fillDiskThrough(ballast);
      for (const bucket of [b, third]) {
        assert.equal(await write(bucket, 'k', Buffer.alloc(1_000_000, 'v')), temporaryFailure);
      }
      fillDiskThrough(ballast);
      const refused = await node.request('/internalSettings', 'POST', { maxBucketCount: '20' });
      assert.equal(await refused.text(), '["Nothing was changed: the disk of the data folder is full."]');
    };
    await eventually(assertFull);
    assert.equal((await node.request(`${at}/third/scopes/s`, 'DELETE')).status, 200);
    const flushed = await node.request(`${at}/other/controller/doFlush`, 'POST');
    assert.deepEqual([flushed.status, await flushed.text()], [200, '']);
    await eventually(async () => assert.equal(await writeDurably(third, 'k', 'v'), success));
    assert.ok(freeBytes(dataDir) > 8_000_000, `${freeBytes(dataDir)}`);
    await eventually(assertFull);
    const deleted = await node.request(`${at}/b`, 'DELETE');
    assert.deepEqual([deleted.status, await deleted.text()], [200, '']);
    await eventually(async () => assert.equal(await writeDurably(third, 'k', 'w'), success));
    assert.ok(freeBytes(dataDir) > 12_000_000, `${freeBytes(dataDir)}`);
    closeSync(ballast);
    rmSync(join(dataDir, 'ballast'));
    for (const connection of [b, third]) connection.close();
    await node.stop('SIGKILL');
    await using again = await NodeProcess.start({ dataDir });
    assert.equal((await again.request(`${at}/b`)).status, 404);
    const c = await client(again, 'third');
    assert.equal((await read(c, 'k')).value.toString(), 'w');
    const other = await client(again, 'other');
    assert.equal((await read(other, 'k0')).status, Status.keyNotFound);
    assert.equal(statSync(join(dataDir, 'reserve')).size, reserveBytes);
    for (const connection of [c, other]) connection.close();
    await again.stop();
  } finally {
    execFileSync('umount', ['--lazy', dataDir]);
    rmSync(dataDir, { recursive: true });
  }
});

test('after a failed sync a bucket refuses writes with the reason, and still reads', {
  skip: needs('compiler'),
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-sync-'));
  const library = join(folder, 'failing-sync.so');
  const source = new URL('../support/failing-sync.c', import.meta.url).pathname;
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
  const failSync = join(folder, 'fail');
  try {
    const failConfig = join(folder, 'fail-config');
    const environment = {
      LD_PRELOAD: library,
      DIVAN_FAIL_SYNC: failSync,
      DIVAN_FAIL_CONFIG_SYNC: failConfig,
    };
    await using node = await NodeProcess.start({ args, environment });
    writeFileSync(failConfig, '');
    const change = await node.request('/internalSettings', 'POST', { maxBucketCount: '20' });
    assert.deepEqual(
      [change.status, await change.text()],
      [500, '["The change may be lost: the configuration file cannot be written: disk I/O error."]'],
    );
    rmSync(failConfig);
    const b = await client(node);
    await eventually(async () =>
      assert.deepEqual(await healthOf(node), { node: 'healthy', bucket: 'healthy' }),
    );
    assert.equal(await write(b, 'before', Buffer.from('1')), success);
    writeFileSync(failSync, '');
    await eventually(async () => assert.equal(await write(b, 'k', Buffer.from('2')), temporaryFailure));
    rmSync(failSync);
    const other = await client(node, 'other');
    // The node continues to commit for the other bucket, so that it could retry the failed commit.
    for (let commit = 0; commit < 20; commit++) {
      assert.equal(await writeDurably(other, 'k', '1'), success);
      const again = await write(b, 'k', Buffer.from('3'));
      assert.equal(again, temporaryFailure, 'a write was accepted after a failed sync');
    }
    assert.equal((await read(b, 'before')).value.toString(), '1');
    await eventually(() => assert.match(node.output, /commit\.failed/));
    await eventually(async () =>
      assert.deepEqual(await healthOf(node), { node: 'unhealthy', bucket: 'unhealthy' }),
    );
    await eventually(async () =>
      assert.match(
        await (await node.request('/metrics')).text(),
        /^kv_bucket_writes_refused\{bucket="b"\} 1/m,
      ),
    );
    assert.equal(await write(other, 'k', Buffer.from('4')), success);
    other.close();
    b.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a node whose data folder is moved away acknowledges neither writes nor changes, but reads and stops', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-moved-'));
  const away = `${dataDir}.away`;
  try {
    await using node = await NodeProcess.start({ dataDir, args });
    const [b, withoutErrors] = [await client(node), await dataClient(node, 'b', [])];
    assert.equal(await writeDurably(b, 'k', '1'), success);
    renameSync(dataDir, away);
    // The outcome of the first write is unknown: the node closes the connection of a client that does not know the status for that.
    await assert.rejects(
      writeDurably(withoutErrors, 'other', '2'),
      /the connection was closed instead of a reply/,
    );
    assert.equal(await writeDurably(b, 'k', '3'), temporaryFailure);
    assert.equal((await read(b, 'k')).value.toString(), '1');
    b.close();
    const user = await node.request('/settings/rbac/users/local/ann', 'PUT', {
      password: 'password',
      roles: 'admin',
    });
    assert.equal(user.status, 500);
    assert.match(
      await user.text(),
      /Nothing was changed: .*config\.db was removed or replaced while it was open/,
    );
    assert.equal(await node.stop(), 0);
    assert.throws(() => statSync(dataDir), /ENOENT/);
  } finally {
    rmSync(away, { recursive: true });
  }
});

test('a node whose files were cut or flipped names them and serves everything else', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-harm-'));
  /** By the bucket of the file. */
  const damages = { b: 'cut', c: 'flipped' } as const;
  const buckets = Object.keys(damages) as (keyof typeof damages)[];
  const withC = [...args, '--bucket', 'c'];
  try {
    await using node = await NodeProcess.start({ dataDir, args: withC });
    const paths: string[] = [];
    for (const bucket of buckets) {
      const connection = await client(node, bucket);
      for (let i = 0; i < 400; i++)
        assert.equal(await write(connection, `k${i}`, Buffer.alloc(500, 'v'), i % 4), success);
      connection.close();
      const described = await node.request(`/pools/default/buckets/${bucket}`);
      const { uuid } = (await described.json()) as { uuid: string };
      paths.push(globSync(`${dataDir}/**/${uuid}/data-0.*.db`)[0] as string);
    }
    const other = await client(node, 'other');
    assert.equal(await write(other, 'k', Buffer.from('v')), success);
    other.close();
    assert.equal(await node.stop(), 0);
    for (const [index, bucket] of buckets.entries()) damageFile(paths[index] as string, damages[bucket]);
    await using again = await NodeProcess.start({ dataDir, args: withC });
    for (const path of paths) await eventually(() => assert.ok(again.output.includes(path), again.output));
    for (const bucket of buckets) {
      const connection = await client(again, bucket);
      assert.equal((await read(connection, 'k0', 0)).status, temporaryFailure, bucket);
      assert.equal((await read(connection, 'k1', 1)).status, success, bucket);
      connection.close();
    }
    const otherAgain = await client(again, 'other');
    assert.equal((await read(otherAgain, 'k')).value.toString(), 'v');
    otherAgain.close();
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

async function healthOf(node: NodeProcess): Promise<{ node?: string; bucket?: string }> {
  const statusAt = async (path: string): Promise<string | undefined> => {
    const { nodes } = (await (await node.request(path)).json()) as { nodes: { status: string }[] };
    return nodes[0]?.status;
  };
  const [whole, bucket] = [await statusAt('/pools/default'), await statusAt('/pools/default/buckets/b')];
  return { ...(whole && { node: whole }), ...(bucket && { bucket }) };
}

/** Resolves once the documents are persisted, so that no write waits for space later. */
async function storeMegabytes(node: NodeProcess, bucket: string, count: number): Promise<void> {
  const connection = await client(node, bucket);
  for (let i = 0; i < count; i++) {
    assert.equal(await writeDurably(connection, `k${i}`, 'v'.repeat(1_000_000), i % 4), success);
  }
  connection.close();
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function damageFile(path: string, damage: 'cut' | 'flipped'): void {
  const { size } = statSync(path);
  if (damage === 'cut') {
    truncateSync(path, Math.floor(size / 2));
    return;
  }
  // Inside values, where SQLite does not detect damage.
  const bytes = readFileSync(path);
  for (let page = 8192; page < size; page += 8192) {
    const at = bytes.subarray(page, page + 8192).lastIndexOf('vvvvvvvvvvvv');
    if (at >= 0) bytes[page + at + 3] = 0x77;
  }
  writeFileSync(path, bytes);
}
