// Nodes at their limits and after them: 1,200 collections under load, too little memory of the system, a file system that becomes
// read-only, an older copy of the whole data folder. Writes acknowledged as persisted exist afterwards.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Status } from '#wire/status.ts';
import { portNumber } from '../support/addresses.ts';
import { Bulk } from '../support/bulk.ts';
import { dataClient, get, persisted, set } from '../support/data-client.ts';
import { DcpClient } from '../support/dcp-client.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import type { Random } from '../support/random.ts';
import { Turns } from '../support/turns.ts';

/** Few vbuckets, so that each has several documents. */
const vbOf = (i: number): number => i % 64;
const bucketArgs = ['--bucket', 'b'];

const portOf = (node: NodeProcess): number => portNumber(node.ready.node.kv);
const bulkOf = (node: NodeProcess): Promise<Bulk> => Bulk.open(portOf(node), administrator.username);

/** The numbers of the documents whose writes were acknowledged as persisted. */
class Ledger {
  readonly acknowledged = new Set<number>();

  async write(bulk: Bulk, from: number, to: number, bytes: number, endsWithNode = false): Promise<void> {
    await bulk.run(
      to - from,
      (i) => set(`k${from + i}`, textOf(from + i, bytes), { vb: vbOf(from + i), framing: persisted }),
      (i, { status }) => {
        if (status === Status.success) this.acknowledged.add(from + i);
      },
      endsWithNode,
    );
  }

  /** Every acknowledged document must exist with its content. */
  async check(node: NodeProcess, bytes: number): Promise<void> {
    using bulk = await bulkOf(node);
    const all = [...this.acknowledged];
    await bulk.run(
      all.length,
      (i) => get(`k${all[i]}`, { vb: vbOf(all[i] as number) }),
      (i, { status, value }) => {
        const isWhole =
          status === Status.success && value.equals(Buffer.from(textOf(all[i] as number, bytes)));
        assert.ok(isWhole, `acknowledged document ${all[i]}: status ${status}`);
      },
    );
  }
}

const textOf = (i: number, bytes: number): string => `{"i":${i},"filler":"${'x'.repeat(bytes)}"}`;

/** Writes documents to every collection while half of the collections are dropped; the others must keep their documents. */
export async function collections(count: number, perCollection: number, random: Random): Promise<string> {
  using turns = new Turns();
  await using node = await NodeProcess.start({ args: bucketArgs, environment: turns.environment });
  turns.count();
  const names = Array.from({ length: count }, (_, i) => `c${i}`);
  await declare(node, names);
  const ids = await idsOf(node);
  assert.equal(ids.size, count);
  const uids = names.map((name) => ids.get(name) as number);
  using bulk = await bulkOf(node);
  // The data service applies the new manifest some time after the REST reply.
  await eventually(() => checkEach(bulk, uids, Status.keyNotFound, 'absent'));
  const total = count * perCollection;
  const place = (i: number): { key: Buffer; vb: number } => ({
    key: keyIn(uids[i % count] as number, `d${i}`),
    vb: vbOf(i),
  });
  const from = performance.now();
  await bulk.run(
    total,
    (i) => ({ ...set('', `${i}`), ...place(i) }),
    (i, { status }) => assert.equal(status, Status.success, `${i}`),
  );
  const speed = ((total / (performance.now() - from)) * 1000).toFixed(0);
  const dropped = new Set(names.filter(() => random(2) === 0));
  const remaining = names.filter((name) => !dropped.has(name));
  const isKept = (i: number): boolean => !dropped.has(names[i % count] as string);
  const whileDropped: number[] = [Status.success, Status.unknownCollection];
  await Promise.all([
    declare(node, remaining),
    bulk.run(
      total,
      (i) => ({ ...set('', `${i} again`), ...place(i) }),
      (i, { status }) => {
        assert.ok(
          isKept(i) ? status === Status.success : whileDropped.includes(status),
          `document ${i}: status ${status}`,
        );
      },
    ),
  ]);
  await eventually(() =>
    checkEach(
      bulk,
      uids.filter((_, i) => !isKept(i)),
      Status.unknownCollection,
      'd',
    ),
  );
  let found = 0;
  await bulk.run(
    total,
    (i) => ({ ...get(''), ...place(i) }),
    (i, { status, value }) => {
      if (isKept(i)) assert.equal(value.toString(), `${i} again`);
      else assert.equal(status, Status.unknownCollection);
      found += isKept(i) ? 1 : 0;
    },
  );
  await eventually(async () => assert.equal(Number((await bulk.stats()).get('curr_items')), found));
  return `${count} collections, ${total} documents written at ${speed}/s, ${dropped.size} dropped under load; ${turns.describe()}`;
}

async function declare(node: NodeProcess, names: readonly string[]): Promise<void> {
  const scopes = [
    { name: '_default', collections: [{ name: '_default' }, ...names.map((name) => ({ name }))] },
  ];
  const { rest } = node.ready.node;
  const authorization = `Basic ${Buffer.from(`${administrator.username}:${administrator.password}`).toString('base64')}`;
  const body = JSON.stringify({ scopes });
  const headers = { authorization, 'content-type': 'application/json' };
  const reply = await fetch(`${rest}/pools/default/buckets/b/scopes`, { method: 'PUT', headers, body });
  assert.equal(reply.status, 200, await reply.text());
}

async function idsOf(node: NodeProcess): Promise<Map<string, number>> {
  const manifest = (await (await node.request('/pools/default/buckets/b/scopes')).json()) as {
    scopes: { name: string; collections: { name: string; uid: string }[] }[];
  };
  const ofDefaultScope = manifest.scopes.find(({ name }) => name === '_default')?.collections ?? [];
  return new Map(
    ofDefaultScope
      .filter(({ name }) => name !== '_default')
      .map(({ name, uid }) => [name, Number.parseInt(uid, 16)]),
  );
}

async function checkEach(bulk: Bulk, uids: readonly number[], expected: number, name: string): Promise<void> {
  await bulk.run(
    uids.length,
    (i) => ({ ...get(''), key: keyIn(uids[i] as number, name) }),
    (i, { status }) => {
      assert.equal(status, expected, `collection ${uids[i]}`);
    },
  );
}

/** The collection id is an unsigned LEB128 number. */
function keyIn(uid: number, name: string): Buffer {
  const id: number[] = [];
  let rest = uid;
  do {
    id.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>>= 7;
  } while (rest > 0);
  return Buffer.concat([Buffer.from(id), Buffer.from(name)]);
}

/** Fills a bucket with `times` times its quota of data. The resident memory of the process may grow by at most three times the quota. */
export async function resident(quotaMegabytes: number, times: number): Promise<string> {
  const valueBytes = 10_000;
  await using node = await NodeProcess.start();
  const emptyMegabytes = residentMegabytes(node);
  const created = await node.request('/pools/default/buckets', 'POST', {
    name: 'b',
    ramQuotaMB: `${quotaMegabytes}`,
    replicaNumber: '0',
    evictionPolicy: 'fullEviction',
  });
  assert.equal(created.status, 202);
  using bulk = await eventually(() => bulkOf(node));
  const value = Buffer.alloc(valueBytes, 'x');
  const count = (quotaMegabytes * times * 1_000_000) / valueBytes;
  const succeeds = (i: number, { status }: { status: number }): void =>
    assert.equal(status, Status.success, `document ${i}`);
  await bulk.run(count, (i) => set(`k${i}`, value, { vb: vbOf(i) }), succeeds);
  await bulk.run(count, (i) => get(`k${i}`, { vb: vbOf(i) }), succeeds);
  const fullMegabytes = residentMegabytes(node);
  const { mem_used: memUsed = 0 } = Object.fromEntries(await bulk.stats());
  assert.ok(Number(memUsed) > quotaMegabytes * 500_000, `only ${memUsed} bytes in memory`);
  const report = `${emptyMegabytes} MB without the bucket, ${fullMegabytes} with ${quotaMegabytes} MB full of documents`;
  assert.ok(fullMegabytes < emptyMegabytes + 3 * quotaMegabytes, report);
  return report;
}

function residentMegabytes({ pid }: NodeProcess): number {
  const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kibibytes) / 1024);
}

/** The system kills a node that takes more memory than its control group allows; without control groups the test kills it. */
export async function outOfMemory(megabytes: number): Promise<string> {
  // On a disk: files of a file system in memory would count as memory of the group.
  const dataDir = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'divan-oom-'));
  const ledger = new Ledger();
  const group = memoryGroup();
  using turns = new Turns();
  try {
    await using node = await NodeProcess.start({ dataDir, args: bucketArgs, environment: turns.environment });
    turns.count();
    // The memory that the node has taken before is not counted: it may take this much more.
    group?.limit(node.pid, megabytes);
    using bulk = await bulkOf(node);
    const load = ledger.write(bulk, 0, 1_000_000, 2_000, true);
    if (group === null) {
      await eventually(() => assert.ok(ledger.acknowledged.size > 2_000));
      await node.stop('SIGKILL');
    }
    await load;
    await eventually(() => assert.equal(node.running, false));
    assert.ok(
      ledger.acknowledged.size > 1_000,
      `only ${ledger.acknowledged.size} documents were acknowledged`,
    );
    await using again = await NodeProcess.start({ dataDir });
    await ledger.check(again, 2_000);
    const how =
      group === null ? 'SIGKILL (no control groups here)' : `the system, ${megabytes} MB after its start`;
    return `ended by ${how}: ${ledger.acknowledged.size} acknowledged documents, all there; ${turns.describe()}`;
  } finally {
    group?.remove();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** A control group for memory; null where none can be created. */
function memoryGroup(): { limit: (pid: number, megabytes: number) => void; remove: () => void } | null {
  const parent = '/sys/fs/cgroup/memory';
  const folder = join(parent, `divan-${process.pid}`);
  try {
    if (!existsSync(join(parent, 'memory.limit_in_bytes'))) return null;
    mkdirSync(folder);
  } catch {
    return null;
  }
  return {
    limit: (pid, megabytes) => {
      writeFileSync(join(folder, 'memory.limit_in_bytes'), `${megabytes * 2 ** 20}`);
      writeFileSync(join(folder, 'cgroup.procs'), `${pid}`);
    },
    remove: () => rmdirSync(folder),
  };
}

/** The kernel makes an ext4 file system read-only after an error (`mount -o remount,abort` stands for the error). Needs root. */
export async function readOnly(documents: number): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-read-only-'));
  const [image, mended, dataDir] = [join(scratch, 'image'), join(scratch, 'mended'), join(scratch, 'data')];
  mkdirSync(dataDir);
  execFileSync('truncate', ['-s', '256M', image]);
  execFileSync('mkfs.ext4', ['-q', '-O', '^metadata_csum', image]);
  execFileSync('mount', ['-o', 'loop,errors=remount-ro', image, dataDir]);
  const ledger = new Ledger();
  using turns = new Turns();
  try {
    {
      await using node = await NodeProcess.start({
        dataDir: join(dataDir, 'node'),
        args: bucketArgs,
        environment: turns.environment,
      });
      turns.count();
      using bulk = await bulkOf(node);
      await ledger.write(bulk, 0, documents, 500);
      assert.equal(ledger.acknowledged.size, documents);
      execFileSync('mount', ['-o', 'remount,abort', dataDir]);
      const client = await dataClient(node);
      // The node acknowledges no more writes, and serves reads.
      const refused = await client.ask(set('late', '{}', { framing: persisted }));
      assert.notEqual(refused.status, Status.success, 'a durable write on a read-only disk');
      await eventually(async () => {
        const { status } = await client.ask(set('later', '{}', { vb: 1 }));
        assert.notEqual(status, Status.success, 'a write on a read-only disk');
      });
      await ledger.check(node, 500);
      await eventually(async () => {
        const { nodes } = (await (await node.request('/pools/default')).json()) as {
          nodes: { status: string }[];
        };
        assert.notEqual(nodes[0]?.status, 'healthy');
      });
      const edit = await node.request('/pools/default/buckets/b', 'POST', { flushEnabled: '1' });
      assert.notEqual(edit.status, 200);
      assert.match(await edit.text(), /read-only|readonly|disk|file/i);
      await node.stop('SIGTERM');
    }
    // The file system is checked and mounted again: a copy of it, because a mount namespace that another test made meanwhile
    // keeps the aborted one mounted.
    execFileSync('umount', [dataDir]);
    copyFileSync(image, mended);
    checkFileSystem(mended);
    execFileSync('mount', ['-o', 'loop', mended, dataDir]);
    await using again = await NodeProcess.start({ dataDir: join(dataDir, 'node') });
    await ledger.check(again, 500);
    await eventually(async () => {
      const { status } = await (await dataClient(again)).ask(set('after', '{}', { framing: persisted }));
      assert.equal(status, Status.success);
    });
    await again.stop();
    return `${documents} acknowledged documents: served while read-only, and there afterwards; ${turns.describe()}`;
  } finally {
    execFileSync('umount', ['--lazy', dataDir]);
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** e2fsck exits with 1 when it has corrected something. */
function checkFileSystem(image: string): void {
  try {
    execFileSync('e2fsck', ['-fy', image], { stdio: 'ignore' });
  } catch (error) {
    if ((error as { status?: number }).status !== 1) throw error;
  }
}

/** A node whose data folder is replaced by an older copy has exactly the documents of the copy, and change streams that are ahead roll back. */
export async function olderCopy(documents: number): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-older-'));
  const [dataDir, copy] = [join(scratch, 'node'), join(scratch, 'copy')];
  const [before, after] = [new Ledger(), new Ledger()];
  using turns = new Turns();
  try {
    {
      await using node = await NodeProcess.start({ dataDir, args: bucketArgs });
      using bulk = await bulkOf(node);
      await before.write(bulk, 0, documents, 200);
      assert.equal(await node.stop(), 0);
    }
    cpSync(dataDir, copy, { recursive: true, preserveTimestamps: true });
    const streams = new Map<number, { uuid: bigint; position: number }>();
    {
      await using node = await NodeProcess.start({ dataDir });
      using bulk = await bulkOf(node);
      await after.write(bulk, documents, 2 * documents, 200);
      assert.equal(after.acknowledged.size, documents);
      const dcp = await new DcpClient(await dataClient(node)).open();
      for (const vb of [0, 1, 33]) {
        await dcp.stream(vb);
        await dcp.reach([[vb, (2 * documents) / 64]]);
        streams.set(vb, { uuid: dcp.copyOf(vb).uuid, position: dcp.copyOf(vb).position });
      }
      dcp.connection.close();
      await node.stop('SIGKILL');
    }
    renameSync(dataDir, join(scratch, 'newer'));
    renameSync(copy, dataDir);
    await using node = await NodeProcess.start({ dataDir, environment: turns.environment });
    turns.count();
    await before.check(node, 200);
    using bulk = await bulkOf(node);
    assert.equal(Number((await bulk.stats()).get('curr_items')), documents);
    const dcp = await new DcpClient(await dataClient(node)).open();
    for (const [vb, { uuid, position }] of streams) {
      const reply = await dcp.stream(vb, { start: position, uuid });
      assert.equal(reply.status, Status.rollback, `stream of vbucket ${vb} at ${position}`);
      assert.ok(Number(reply.value.readBigUInt64BE(0)) < position);
    }
    dcp.connection.close();
    // The lost writes can be repeated.
    await after.write(bulk, documents, 2 * documents, 200);
    assert.equal(after.acknowledged.size, documents);
    await after.check(node, 200);
    return `${documents} documents of the copy, none of the ${documents} later ones; ${streams.size} streams rolled back; ${turns.describe()}`;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
