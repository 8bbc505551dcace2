// kill -9 at system calls of a backup and of a restore: afterwards there is the old state, the new one, or a partial one that is resumed.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findBackup } from '#backup/archive/repository.adapter.ts';
import { type RestoreRequest, runRestore } from '#backup/restore/run-restore.adapter.ts';
import { type Clock, realClock } from '#ports/clock.ts';
import { BackupHistory } from '../support/backup-history.ts';
import { type BucketState, backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { runCommand } from '../support/command.ts';
import { killedAtCall } from '../support/killed-command.ts';
import { needs } from '../support/needs.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { aSeed, type Random, randomFrom } from '../support/random.ts';

/** Each is tried at every call with DIVAN_ALL_KILLS=1, else at some. */
const killsOfBackup = 10;
const killsOfRestore = 4;
const fileCalls = 'pwrite64,fsync,rename,mkdir,unlink,ftruncate';
const socketCalls = 'write,writev,sendmsg';

describe('kill -9', { skip: needs('strace') }, () => {
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
    await history.step(100);
    history.close();
    state = await stateOf(access, 'b');
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const killedAt = (calls: string, number: number, args: readonly string[]): Promise<boolean> =>
    killedAtCall(calls, number, args, { ...environment, DIVAN_URL: node.ready.node.rest });

  const divan = (...args: string[]) => runCommand(args, { ...environment, DIVAN_URL: node.ready.node.rest });

  async function restored(folder: string): Promise<BucketState> {
    const { status, error } = await divan('restore', folder, '--map', 'b=copy');
    assert.deepEqual([status, error], [0, '']);
    const found = await stateOf(backupNode(node), 'copy');
    await node.request('/pools/default/buckets/copy', 'DELETE');
    return found;
  }

  it('of a backup leaves complete backups, or a partial one that the next command completes', async (t) => {
    const random = aSeed(t);
    const calls = numbers(random, 120, killsOfBackup);
    let killed = 0;
    for (const number of calls) {
      const folder = join(scratch, `at-${number}`);
      const passphrase = killed % 2 === 0 ? undefined : 'a passphrase';
      if (passphrase === undefined) delete environment['DIVAN_BACKUP_PASSPHRASE'];
      else environment['DIVAN_BACKUP_PASSPHRASE'] = passphrase;
      if (!(await killedAt(fileCalls, number, ['backup', folder, '--bucket', 'b']))) continue;
      killed++;
      const again = await divan('backup', folder, '--bucket', 'b', '--json');
      assert.equal(again.status, 0, `killed at ${number}: ${again.error}`);
      const { repository } = findBackup(folder, passphrase);
      assert.deepEqual(repository.partial(), [], `killed at ${number}`);
      const verified = await divan('backup', 'verify', folder);
      assert.deepEqual([verified.status, verified.error], [0, ''], `killed at ${number}`);
      assert.deepEqual(differences(state, await restored(folder)).slice(0, 3), [], `killed at ${number}`);
      rmSync(folder, { recursive: true });
    }
    delete environment['DIVAN_BACKUP_PASSPHRASE'];
    assert.ok(killed > 0, 'no call was hit');
  });

  it('of a restore leaves documents of the backup only, and --resume completes it', async (t) => {
    const random = aSeed(t);
    const folder = join(scratch, 'whole');
    assert.equal((await divan('backup', folder, '--bucket', 'b')).status, 0);
    let killed = 0;
    const args = ['restore', folder, '--map', 'b=copy'];
    for (const number of numbers(random, 60, killsOfRestore)) {
      if (await killedAt(socketCalls, number, args)) killed++;
      const between = await node.request('/pools/default/buckets/copy');
      if (between.status === 200)
        for (const [key, version] of await stateOf(backupNode(node), 'copy'))
          assert.deepEqual(version, state.get(key), `${key} after the kill at ${number}`);
      const { status, error } = await divan(...args, '--resume');
      assert.deepEqual([status, error], [0, ''], `killed at ${number}`);
      assert.deepEqual(
        differences(state, await stateOf(backupNode(node), 'copy')),
        [],
        `killed at ${number}`,
      );
      await node.request('/pools/default/buckets/copy', 'DELETE');
    }
    assert.ok(killed > 0, 'no call was hit');
  });

  it('a restore that was stopped goes on behind what the bucket has, unless the bucket lost it', async () => {
    const folder = join(scratch, 'stopped');
    assert.equal((await divan('backup', folder, '--bucket', 'b')).status, 0);
    const restore = (request: Partial<RestoreRequest>, stopAfter: number) => {
      const stop = new AbortController();
      let reports = 0;
      return runRestore(
        {
          ...{ folder, buckets: [], map: ['b=copy'], replaces: false, isForced: false },
          ...{ createsBuckets: true, withIndexes: true, resumes: true, awaitsDisk: false, ...request },
        },
        {
          ...{ node: backupNode(node), clock: hastyClock(), signal: stop.signal },
          progress: () => {
            if (++reports === stopAfter) stop.abort(new Error('stopped by the test'));
          },
        },
      );
    };
    await assert.rejects(
      restore({}, 512),
      /stopped by the test \(bucket "b": 512 of 1024 vbuckets were restored/,
    );
    const rest = await restore({}, 0);
    const { documents = 0, deletions = 0 } = rest.buckets[0] ?? {};
    assert.ok(
      documents + deletions > 0 && documents + deletions < state.size * 0.8,
      `${documents} documents`,
    );
    assert.deepEqual(differences(state, await stateOf(backupNode(node), 'copy')), []);
    await assert.rejects(restore({}, 512), /512 of 1024/);
    await node.request('/pools/default/buckets/copy', 'DELETE');
    const whole = await restore({}, 0);
    assert.equal((whole.buckets[0]?.documents ?? 0) + (whole.buckets[0]?.deletions ?? 0), state.size);
    await node.request('/pools/default/buckets/copy', 'DELETE');
  });
});

/** Some numbers from 1 on, in order, one of them among the first ten, which every command reaches; with DIVAN_ALL_KILLS all. */
function numbers(random: Random, below: number, count: number): number[] {
  if (process.env['DIVAN_ALL_KILLS'] === '1') return Array.from({ length: below }, (_, index) => index + 1);
  const some = Array.from({ length: count - 1 }, () => random(below) + 1);
  return [...new Set([random(10) + 1, ...some])].sort((a, b) => a - b);
}

/** A second passes between any two looks at it. */
function hastyClock(): Clock {
  let ms = 0;
  return { ...realClock, monotonicMs: () => (ms += 1_001) };
}
