// Backups of large documents, of many collections, of several nodes, of buckets that are flushed or deleted during the backup, and on
// full disks.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { findBackup } from '#backup/archive/repository.adapter.ts';
import { runBackup } from '#backup/capture/run-backup.adapter.ts';
import { BackupNode } from '#backup/node/backup-node.ts';
import { BucketClient, type StoreRequest } from '#client/bucket-client.ts';
import { vbucketOf } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { runCommand } from '../support/command.ts';
import { fillDisk } from '../support/fill-disk.ts';
import { needs } from '../support/needs.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { storing } from '../support/storing.ts';

/** Sends all writes to every node; each makes those of its vbuckets. */
async function store(
  access: BackupNode,
  bucket: string,
  collectionId: number,
  writes: StoreRequest[],
): Promise<void> {
  for (const { options } of await access.routes(bucket)) {
    const client = await BucketClient.open(options);
    const replies = await client.storeMany(collectionId, writes);
    client.close();
    const expected: readonly number[] = [Status.success, Status.notMyVbucket];
    assert.ok(replies.every(({ status }) => expected.includes(status)));
  }
}

/** Keys whose vbuckets are among the first. */
function keysInFirst(vbuckets: number, count: number): string[] {
  const keys: string[] = [];
  for (let n = 0; keys.length < count; n++) if (vbucketOf(`k${n}`) < vbuckets) keys.push(`k${n}`);
  return keys;
}

const withAttribute = (name: string, bytes: number): NonNullable<StoreRequest['parts']> => ({
  writes: [
    {
      opcode: SubdocOpcode.dictUpsert,
      flags: PathFlag.xattr,
      path: name,
      value: Buffer.from(JSON.stringify('x'.repeat(bytes))),
    },
  ],
  docFlags: 1,
});

/** Less than the documents of the bucket, which have 92 MiB. */
const peakMbMax = 80;

describe('backups of extremes', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-extremes-'));
  let node: NodeProcess;
  let access: BackupNode;

  before(async () => {
    node = await NodeProcess.start({ args: ['--memory-quota', '1500'] });
    access = backupNode(node);
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const divan = (...args: string[]) =>
    runCommand(args, { DIVAN_URL: node.ready.node.rest, DIVAN_PASSWORD: administrator.password });

  async function succeeds(...args: string[]): Promise<void> {
    const { status, error } = await divan(...args);
    assert.deepEqual([status, error], [0, ''], args.join(' '));
  }

  /** The most memory of a command for objects and buffers; that for code depends on whether it runs from bundles. */
  async function peakMb(...args: string[]): Promise<number> {
    const file = join(scratch, 'peak');
    const script = `import { writeFileSync } from 'node:fs';
      let peak = 0;
      const sample = () => {
        const { heapTotal, external } = process.memoryUsage();
        peak = Math.max(peak, heapTotal + external);
      };
      setInterval(sample, 1).unref();
      process.on('exit', () => writeFileSync(${JSON.stringify(file)}, String(peak)));`;
    const { status, error } = await runCommand(args, {
      DIVAN_URL: node.ready.node.rest,
      DIVAN_PASSWORD: administrator.password,
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}`,
    });
    assert.deepEqual([status, error], [0, ''], args.join(' '));
    return Number(readFileSync(file, 'utf8')) / (1 << 20);
  }

  /** Flushes the bucket while this process, and with it the backup, waits. */
  function flushMeanwhile(bucket: string): void {
    const { username, password } = administrator;
    const url = `${node.ready.node.rest}/pools/default/buckets/${bucket}/controller/doFlush`;
    const headers = { authorization: `Basic ${btoa(`${username}:${password}`)}` };
    const program = `const { status } = await fetch('${url}', ${JSON.stringify({ method: 'POST', headers })});
      process.exitCode = status === 200 ? 0 : 1;`;
    execFileSync(process.execPath, ['--input-type=module', '-e', program]);
  }

  for (const bucketType of ['couchbase', 'ephemeral'])
    it(`keep the largest documents, attributes and keys of a bucket of type ${bucketType}`, async () => {
      const name = `large-${bucketType}`;
      await access.createBucket(name, { bucketType, ramQuotaMB: 300, replicaNumber: 0 });
      const random = Buffer.from(realRandom.bytes(20 << 20));
      await store(access, name, 0, [
        storing('largest', random),
        storing('words', JSON.stringify('word '.repeat(4_000_000))),
        storing('empty', ''),
        storing('e'.repeat(250), '1'),
        storing('€'.repeat(83), '2'),
        storing('attributes', '', { parts: withAttribute('own', 1_000_000) }),
        storing('gone', '', { parts: withAttribute('_system', 1_000_000) }),
      ]);
      await store(access, name, 0, [storing('gone', '', { kind: 'remove' })]);
      const folder = join(scratch, name);
      await succeeds('backup', folder, '--bucket', name);
      await succeeds('backup', 'verify', folder);
      await succeeds('restore', folder, '--map', `${name}=copy`);
      const expected = await stateOf(access, name);
      assert.equal(expected.size, 7);
      assert.deepEqual(
        differences(expected, await stateOf(access, 'copy')).map((line) => line.slice(0, 200)),
        [],
      );
      for (const bucket of [name, 'copy']) await node.request(`/pools/default/buckets/${bucket}`, 'DELETE');
    });

  it('keep 150 collections and their documents', async () => {
    await access.createBucket('many', { ramQuotaMB: 100, replicaNumber: 0 });
    // Each one is an event in each of 1024 vbuckets.
    const wanted = Array.from({ length: 150 }, (_, n) => ({ scope: `s${n % 3}`, name: `c${n}`, maxTtl: n }));
    await access.addCollections('many', { scopes: ['empty'], collections: wanted });
    const { collections } = await access.scopes('many');
    for (const { id, name } of collections.slice(1, 20))
      await store(access, 'many', id, [storing('k', `"${name}"`)]);
    const folder = join(scratch, 'many');
    await succeeds('backup', folder, '--bucket', 'many');
    await succeeds('restore', folder, '--map', 'many=copy');
    assert.deepEqual(differences(await stateOf(access, 'many'), await stateOf(access, 'copy')), []);
    const scopes = await access.scopes('copy');
    assert.deepEqual([scopes.collections.length, scopes.scopes.length], [151, 5]);
    for (const bucket of ['many', 'copy']) await node.request(`/pools/default/buckets/${bucket}`, 'DELETE');
  });

  it(`need at most ${peakMbMax} MB for a task, however large the bucket is`, async () => {
    await access.createBucket('heavy', { ramQuotaMB: 300, replicaNumber: 0, flushEnabled: 1 });
    // In as many vbuckets as a backup reads at a time, so that each stream has more than a block.
    const streams = 32;
    const keys = keysInFirst(streams, 2_000);
    const writes = keys.map((key) => storing(key, JSON.stringify(`${key} text `.repeat(4_000))));
    for (let from = 0; from < keys.length; from += 100)
      await store(access, 'heavy', 0, writes.slice(from, from + 100));
    const folder = join(scratch, 'heavy');
    const backup = await peakMb('backup', folder, '--bucket', 'heavy');
    await store(access, 'heavy', 0, writes.slice(0, 10));
    await succeeds('backup', folder, '--bucket', 'heavy');
    const merge = await peakMb('backup', 'merge', folder);
    const restore = await peakMb('restore', folder, '--replace');
    const isTooMuch = ([, mb]: [string, number]): boolean => mb > peakMbMax;
    assert.deepEqual(Object.entries({ backup, merge, restore }).filter(isTooMuch), []);
    await node.request('/pools/default/buckets/heavy', 'DELETE');
  });

  it('end with the reason when the bucket is flushed or deleted meanwhile', async () => {
    await access.createBucket('brief', { ramQuotaMB: 100, replicaNumber: 0, flushEnabled: 1 });
    const writes = Array.from({ length: 1_000 }, (_, n) => storing(`k${n}`, `{"n":${n}}`));
    const backUp = (folder: string, during: (reports: number) => void, by: BackupNode = access) => {
      let reports = 0;
      return runBackup(
        { folder: join(scratch, folder), buckets: ['brief'], isFull: false, purges: false },
        {
          node: by,
          clock: realClock,
          random: realRandom,
          signal: new AbortController().signal,
          progress: () => during(++reports),
        },
      );
    };
    // A report follows each of 1024 vbuckets.
    for (const at of [1, 200, 600]) {
      await store(access, 'brief', 0, writes);
      const attempt = backUp(`flushed-${at}`, (reports) => {
        if (reports === at) flushMeanwhile('brief');
      });
      await assert.rejects(attempt, /^BackupError: .*bucket .*was (flushed|deleted or flushed)/, `at ${at}`);
    }
    class Deleting extends BackupNode {
      override async scopes(bucket: string) {
        await node.request(`/pools/default/buckets/${bucket}`, 'DELETE');
        return super.scopes(bucket);
      }
    }
    const deleting = backUp('deleted', () => {}, new Deleting(access.access));
    await assert.rejects(deleting, /^BackupError: bucket "brief" was deleted during the backup$/);
    assert.deepEqual(findBackup(join(scratch, 'deleted')).repository.complete(), []);
  });

  it('say that the disk is full, and are completed when there is room', {
    skip: needs('mount'),
  }, async () => {
    await access.createBucket('random', { ramQuotaMB: 100, replicaNumber: 0 });
    const writes = Array.from({ length: 40 }, (_, n) =>
      storing(`k${n}`, Buffer.from(realRandom.bytes(200_000))),
    );
    await store(access, 'random', 0, writes);
    const mounted = join(scratch, 'disk');
    mkdirSync(mounted);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'divan-test', mounted]);
    try {
      const folder = join(mounted, 'repository');
      const failed = await divan('backup', folder, '--bucket', 'random');
      assert.equal(failed.status, 1);
      assert.match(failed.error, /^divan: cannot write to .*repository \(\d MiB free\): ENOSPC/);
      assert.match((await divan('backup', 'list', folder)).out, /partial/);
      execFileSync('mount', ['-o', 'remount,size=40m', mounted]);
      const { out } = await divan('backup', folder, '--bucket', 'random');
      assert.match(out, /random: 40 documents.*\n.*which was interrupted before, in/);
      await succeeds('backup', 'verify', folder);
    } finally {
      execFileSync('umount', ['--lazy', mounted]);
    }
  });
});

describe('on disks with problems', { skip: needs('mount') }, () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-disks-'));
  const mounted = join(scratch, 'disk');
  const folder = join(mounted, 'repository');
  const filler = join(mounted, 'filler');
  let node: NodeProcess;
  let access: BackupNode;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    access = backupNode(node);
  });
  beforeEach(async () => {
    mkdirSync(mounted);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'divan-test', mounted]);
    await store(access, 'b', 0, [storing('k', `"${realRandom.bytes(8).toString('hex')}"`)]);
  });
  afterEach(() => {
    execFileSync('umount', ['--lazy', mounted]);
    rmSync(mounted, { recursive: true });
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const divan = (...args: string[]) =>
    runCommand(args, { DIVAN_URL: node.ready.node.rest, DIVAN_PASSWORD: administrator.password });

  /** Does something after the documents are captured, before the manifest is written. */
  class Interfering extends BackupNode {
    private readonly interfere: () => void;

    constructor(interfere: () => void) {
      super(access.access);
      this.interfere = interfere;
    }

    override async scopes(bucket: string) {
      this.interfere();
      return super.scopes(bucket);
    }
  }

  const backUp = (by: BackupNode = access) =>
    runBackup(
      { folder, buckets: ['b'], isFull: false, purges: false },
      {
        node: by,
        clock: realClock,
        random: realRandom,
        signal: new AbortController().signal,
        progress: () => {},
      },
    );

  const fill = () => fillDisk(filler);

  it('a disk that fills before the manifest leaves a partial backup, which is completed', async () => {
    await backUp();
    await assert.rejects(
      backUp(new Interfering(fill)),
      /^BackupError: cannot write to .*0 MiB free\): ENOSPC/,
    );
    const { repository } = findBackup(folder);
    assert.deepEqual([repository.complete().length, repository.partial().length], [1, 1]);
    rmSync(filler);
    assert.equal((await backUp()).isResumed, true);
    assert.deepEqual([repository.complete().length, repository.partial()], [2, []]);
  });

  it('a full disk stops a first backup and a merge with the reason, and no restore and no removal', async () => {
    mkdirSync(folder);
    fill();
    await assert.rejects(backUp(), /^BackupError: .*repository.*(ENOSPC|full)/);
    rmSync(filler);
    await backUp();
    await backUp();
    fill();
    const { repository } = findBackup(folder);
    const merge = await divan('backup', 'merge', folder);
    assert.match(merge.error, /^divan: .*repository.*(ENOSPC|full)/);
    assert.doesNotMatch(merge.error, /\n +at /, 'no stack');
    assert.equal(repository.complete().length, 2);
    // The restore cannot record its progress on the full disk.
    const restored = await divan('restore', folder, '--force-updates');
    assert.deepEqual([restored.status, restored.error], [0, '']);
    const last = repository.complete().at(-1) as string;
    const removed = await divan('backup', 'remove', folder, '--backup', last);
    assert.deepEqual([removed.status, removed.error], [0, '']);
    rmSync(filler);
    await backUp();
    const merged = await divan('backup', 'merge', folder);
    assert.deepEqual([merged.status, merged.error], [0, '']);
  });

  it('a folder that vanishes ends the backup with the reason, and the node continues to serve', async () => {
    const vanishing = new Interfering(() => rmSync(folder, { recursive: true }));
    await assert.rejects(backUp(vanishing), /^BackupError: cannot write to .*repository: ENOENT/);
    assert.equal((await node.request('/pools/default/buckets/b')).status, 200);
    await backUp();
  });

  it('archives on a read-only disk are verified and restored; a backup and a merge there fail with the reason', async () => {
    await backUp();
    execFileSync('mount', ['-o', 'remount,ro', mounted]);
    for (const args of [
      ['backup', folder],
      ['backup', 'merge', folder],
    ]) {
      const { status, error } = await divan(...args);
      assert.match(error, /^divan: .*repository.*(EROFS|readonly|read-only)/);
      assert.doesNotMatch(error, /\n +at /, 'no stack');
      assert.equal(status, 1);
    }
    for (const args of [
      ['backup', 'verify', folder],
      ['restore', folder, '--force-updates'],
    ]) {
      const { status, error } = await divan(...args);
      assert.deepEqual([status, error], [0, ''], args.join(' '));
    }
  });
});

it('backs up and restores buckets that are spread over two nodes', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-nodes-'));
  t.after(() => rmSync(scratch, { recursive: true, force: true }));
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '400'] });
  const joiningArgs = ['--services', 'kv', '--join', first.ready.node.rest];
  await using second = await NodeProcess.start({ args: joiningArgs });
  await eventually(async () => {
    const { balanced, nodes } = (await (await second.request('/pools/default')).json()) as {
      balanced: boolean;
      nodes: unknown[];
    };
    assert.deepEqual([balanced, nodes.length], [true, 2]);
  });
  const access = backupNode(second);
  await access.createBucket('b', { ramQuotaMB: 100, replicaNumber: 0 });
  assert.equal((await eventually(() => access.routes('b'))).length, 2);
  const writes = Array.from({ length: 1_000 }, (_, n) => storing(`k${n}`, `{"n":${n}}`));
  await store(access, 'b', 0, writes);
  const environment = { DIVAN_URL: second.ready.node.rest, DIVAN_PASSWORD: administrator.password };
  const folder = join(scratch, 'repository');
  const saved = await runCommand(['backup', folder], environment);
  assert.match(saved.out, /b: 1000 documents/, saved.error);
  const restored = await runCommand(['restore', folder, '--map', 'b=copy'], environment);
  assert.equal(restored.status, 0, restored.error);
  assert.deepEqual(differences(await stateOf(access, 'b'), await stateOf(access, 'copy')), []);
});
