// kill -9 at system calls of a backup and of a restore: afterwards there is the old state, the new one, or a partial one that is resumed.
import assert from 'node:assert/strict';
import { cpSync, existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findBackup, Repository } from '#backup/archive/repository.adapter.ts';
import { runBackup } from '#backup/capture/run-backup.adapter.ts';
import type { BackupManifest } from '#backup/format/manifest.ts';
import { exportLines } from '#backup/inspect/export.ts';
import { verifyBackup } from '#backup/inspect/verify.ts';
import { type RestoreRequest, runRestore } from '#backup/restore/run-restore.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { advancingClock } from '../support/advancing-clock.ts';
import { BackupHistory } from '../support/backup-history.ts';
import { type BucketState, backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { runCommand } from '../support/command.ts';
import { FolderStates } from '../support/folder-states.ts';
import { killedAtCall, stoppedAtCalls } from '../support/killed-command.ts';
import { needs } from '../support/needs.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { aSeed, type Random, randomFrom } from '../support/random.ts';

/** With DIVAN_ALL_KILLS=1 every write of a block and to a socket is interrupted, else some of them. */
const killsAtEachWrite = process.env['DIVAN_ALL_KILLS'] === '1';
const killsPerWrite = 3;
const killsOfRestore = 4;
/** A full backup makes at least this number of calls of each kind of write, and so does a backup that continues it. */
const writesOfEach = 20;
const socketCalls = 'write,writev,sendmsg';
const restoreWithProgress = fileURLToPath(new URL('../support/restore-with-progress.ts', import.meta.url));

describe('interrupted backups and restores', { skip: needs('compiler') }, () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-kill-'));
  const environment: Record<string, string> = { DIVAN_PASSWORD: administrator.password };
  let node: NodeProcess;
  let state: BucketState;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    const access = backupNode(node);
    await access.addCollections('b', { scopes: ['shop'], collections: [] });
    const history = await BackupHistory.start(randomFrom(7), access, 'b');
    await history.step(100);
    for (const passphrase of [undefined, 'a passphrase']) {
      prepare(earlier(passphrase), passphrase);
      await backUp(earlier(passphrase), passphrase);
    }
    await history.step(100);
    history.close();
    state = await stateOf(access, 'b');
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const killedAt = (
    calls: string,
    number: number,
    args: readonly string[],
    more: Record<string, string> = {},
    program?: string,
  ): Promise<boolean> =>
    killedAtCall(calls, number, args, { ...environment, ...more, DIVAN_URL: node.ready.node.rest }, program);

  const stoppedAt = (
    calls: readonly string[],
    args: readonly string[],
    more: Record<string, string>,
    stopped: (call: string) => void,
  ): Promise<void> =>
    stoppedAtCalls(calls, args, { ...environment, ...more, DIVAN_URL: node.ready.node.rest }, stopped);

  const divan = (...args: string[]) => runCommand(args, { ...environment, DIVAN_URL: node.ready.node.rest });

  const backUp = (folder: string, passphrase?: string) =>
    runBackup(
      { folder, buckets: ['b'], isFull: false, purges: false, passphrase },
      {
        node: backupNode(node),
        clock: realClock,
        random: realRandom,
        progress: () => {},
        signal: new AbortController().signal,
      },
    );

  /** Makes an encrypted repository that costs little to open: tests that open it often would spend their time on scrypt. */
  function prepare(folder: string, passphrase?: string): void {
    if (passphrase === undefined) return;
    Repository.prepareFolder(folder);
    Repository.openOrCreate(folder, realRandom, passphrase, { cost: 2, blockSize: 8, parallelization: 3 });
  }

  /** A repository with a backup of the bucket before its last changes. */
  const earlier = (passphrase?: string): string => join(scratch, `earlier-${passphrase}`);

  const ordering = ['fsync', 'rename', 'mkdir', 'unlink'];
  // The passphrase of a new repository costs a third of a second in each command.
  const kinds = [
    { what: 'a backup', calls: ordering, writes: ['pwritev', 'write'], passphrase: undefined },
    { what: 'an encrypted backup', calls: ['rename'], writes: ['pwritev'], passphrase: 'a passphrase' },
  ];
  for (const { what, calls, writes, passphrase } of kinds)
    it(`kill -9 of ${what} leaves complete backups, or a partial one that the next backup completes`, async (t) => {
      const random = aSeed(t);
      const reference = join(scratch, `reference-${passphrase}`);
      prepare(reference, passphrase);
      await backUp(reference, passphrase);
      const expected = exportedLines(opened(reference, passphrase));
      const environmentOfKill = passphrase === undefined ? {} : { DIVAN_BACKUP_PASSPHRASE: passphrase };
      const assertCompletes = async (folder: string, continues: boolean, point: string): Promise<void> => {
        if (completeIn(folder) > (continues ? 1 : 0))
          assert.deepEqual(exportedLines(opened(folder, passphrase)), expected, point);
        await backUp(folder, passphrase);
        const repository = opened(folder, passphrase);
        assert.deepEqual(repository.partial(), [], point);
        assert.deepEqual(exportedLines(repository), expected, point);
        await verifyAll(repository);
        rmSync(folder, { recursive: true });
      };
      // The first rename is that of the file of the repository.
      const killed = join(scratch, `killed-${passphrase}`);
      assert.ok(await killedAt('rename', 1, ['backup', killed, '--bucket', 'b'], environmentOfKill));
      await assertCompletes(killed, false, 'killed at a rename');
      const hit = new Map<string, number>();
      for (const continues of [false, true]) {
        const isWanted = pointsOf(random, calls, writes, continues);
        const folder = join(scratch, `stopped-${passphrase}`);
        if (continues) cpSync(earlier(passphrase), folder, { recursive: true });
        else prepare(folder, passphrase);
        const states = new FolderStates(folder);
        const numberOf = new Map<string, number>();
        await stoppedAt(
          [...calls, ...writes],
          ['backup', folder, '--bucket', 'b'],
          environmentOfKill,
          (call) => {
            const number = (numberOf.get(call) ?? 0) + 1;
            numberOf.set(call, number);
            if (!isWanted(call, number)) return;
            const kind = `${call} of ${continues ? 'an incremental' : 'a full'} backup`;
            states.keep(`${kind}, ${number}`);
            hit.set(kind, (hit.get(kind) ?? 0) + 1);
          },
        );
        rmSync(folder, { recursive: true });
        for (const { copy, point } of states.kept)
          await assertCompletes(copy, continues, `killed at ${point}`);
        t.diagnostic(`${states.kept.length} states of ${continues ? 'an incremental' : 'a full'} backup`);
      }
      t.diagnostic([...hit].map(([kind, kills]) => `${kills} ${kind}`).join(', '));
      for (const call of [...calls, ...writes])
        for (const kind of [`${call} of a full backup`, `${call} of an incremental backup`])
          assert.ok(hit.has(kind), `no ${kind} was hit`);
    });

  it('kill -9 of a restore that records its progress leaves documents of the backup only, and --resume completes it', async (t) => {
    const random = aSeed(t);
    const folder = join(scratch, 'progress');
    await backUp(folder);
    let killed = 0;
    for (const call of ['open', 'fsync', 'rename', 'unlink']) {
      const args = [folder, node.ready.node.rest, 'b=copy'];
      // A restore makes one or two calls of each kind per vbucket, and one unlink at its end. Loading the modules calls open too.
      const number = call === 'unlink' ? 1 + random(3) : 1 + random(1_000);
      if (await killedAt(call, number, args, {}, restoreWithProgress)) killed++;
      await assertPartOfBackup(`${call} ${number}`);
      await resume(['restore', folder, '--map', 'b=copy'], `${call} ${number}`);
      assert.deepEqual(differences(state, await stateOf(backupNode(node), 'copy')), [], `${call} ${number}`);
      await node.request('/pools/default/buckets/copy', 'DELETE');
    }
    assert.ok(killed > 0, 'no call was hit');
  });

  /** The bucket has versions of the backup and nothing else. */
  async function assertPartOfBackup(point: string): Promise<void> {
    const bucket = await node.request('/pools/default/buckets/copy');
    // The restore was killed before it made the bucket.
    if (bucket.status === 404) return;
    for (const [key, version] of await stateOf(backupNode(node), 'copy'))
      assert.deepEqual(version, state.get(key), `${key} after the kill at ${point}`);
  }

  /** Resumes the killed command. Repeats it instead if it was killed before it recorded its start, or after its end. */
  async function resume(args: readonly string[], point: string): Promise<void> {
    const isRecorded = globSync('restore-*.json', { cwd: args[1] as string }).length > 0;
    const { status, error } = await divan(...args, '--resume');
    if (isRecorded) return assert.deepEqual([status, error], [0, ''], `killed at ${point}`);
    assert.match(error, /nothing to resume; repeat the command without --resume/, `killed at ${point}`);
    const repeated = await divan(...args);
    assert.deepEqual([repeated.status, repeated.error], [0, ''], `killed at ${point}`);
  }

  it('kill -9 of a restore leaves documents of the backup only, and --resume completes it', async (t) => {
    const random = aSeed(t);
    const folder = join(scratch, 'whole');
    assert.equal((await divan('backup', folder, '--bucket', 'b')).status, 0);
    let killed = 0;
    const args = ['restore', folder, '--map', 'b=copy'];
    for (const number of numbers(random, 60, killsOfRestore)) {
      if (await killedAt(socketCalls, number, args)) killed++;
      await assertPartOfBackup(`${number}`);
      await resume(args, `${number}`);
      assert.deepEqual(
        differences(state, await stateOf(backupNode(node), 'copy')),
        [],
        `killed at ${number}`,
      );
      await node.request('/pools/default/buckets/copy', 'DELETE');
    }
    assert.ok(killed > 0, 'no call was hit');
  });

  it('a restore that was stopped continues after the documents that the bucket has, unless the bucket lost them', async () => {
    const folder = join(scratch, 'stopped');
    assert.equal((await divan('backup', folder, '--bucket', 'b')).status, 0);
    const restore = (request: Partial<RestoreRequest>, stopAfter: number) => {
      const stop = new AbortController();
      let reports = 0;
      return runRestore(
        {
          folder,
          buckets: [],
          map: ['b=copy'],
          replaces: false,
          isForced: false,
          createsBuckets: true,
          withIndexes: true,
          resumes: false,
          awaitsDisk: false,
          ...request,
        },
        {
          node: backupNode(node),
          clock: advancingClock(),
          signal: stop.signal,
          progress: () => {
            if (++reports === stopAfter) stop.abort(new Error('stopped by the test'));
          },
        },
      );
    };
    // A report follows each of 1024 vbuckets.
    const half = 512;
    await assert.rejects(
      restore({}, half),
      /stopped by the test \(bucket "b": 512 of 1024 vbuckets were restored/,
    );
    const rest = await restore({ resumes: true }, 0);
    const { documents = 0, deletions = 0 } = rest.buckets[0] ?? {};
    // About half of the versions are in the other vbuckets.
    const versions = documents + deletions;
    assert.ok(versions > 0 && versions < state.size * 0.8, `${versions} of ${state.size} versions`);
    assert.deepEqual(differences(state, await stateOf(backupNode(node), 'copy')), []);
    await assert.rejects(restore({}, half), /512 of 1024/);
    await node.request('/pools/default/buckets/copy', 'DELETE');
    const whole = await restore({ resumes: true }, 0);
    assert.equal((whole.buckets[0]?.documents ?? 0) + (whole.buckets[0]?.deletions ?? 0), state.size);
    await node.request('/pools/default/buckets/copy', 'DELETE');
  });
});

/** Whether a call of this number is one to test: half of the calls that order the writes, and some that write, unless all are wanted. */
function pointsOf(
  random: Random,
  ordering: readonly string[],
  writing: readonly string[],
  continues: boolean,
): (call: string, number: number) => boolean {
  const chosen = new Map(writing.map((call) => [call, numbers(random, writesOfEach, killsPerWrite)]));
  return (call, number) => {
    if (killsAtEachWrite) return true;
    if (ordering.includes(call)) return number % 2 === (continues ? 0 : 1);
    return chosen.get(call)?.includes(number) ?? false;
  };
}

/** How many backups of the folder, if it is there, have a manifest. */
const completeIn = (folder: string): number =>
  existsSync(folder) ? globSync('*/manifest.json', { cwd: folder }).length : 0;

/** With a passphrase this takes a third of a second of a processor. */
const opened = (folder: string, passphrase?: string): Repository => findBackup(folder, passphrase).repository;

/** The documents of the newest backup. */
function exportedLines(repository: Repository): string[] {
  const chain = repository.chain(repository.chosen(undefined));
  const records = (chain[0] as BackupManifest).buckets;
  return records.flatMap((record) => [...exportLines(repository, chain, record)]).sort();
}

async function verifyAll(repository: Repository): Promise<void> {
  const verification = { isWanted: () => true, clock: realClock, signal: new AbortController().signal };
  for (const name of repository.complete())
    await verifyBackup(repository, repository.manifest(name), verification);
}

/** Some numbers from 1 on, in order, one of them among the first ten, which every command reaches; with DIVAN_ALL_KILLS all. */
function numbers(random: Random, below: number, count: number): number[] {
  if (killsAtEachWrite) return Array.from({ length: below }, (_, index) => index + 1);
  const some = Array.from({ length: count - 1 }, () => random(below) + 1);
  return [...new Set([random(10) + 1, ...some])].sort((a, b) => a - b);
}
