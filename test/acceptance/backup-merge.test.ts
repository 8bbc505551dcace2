// `divan backup merge` and `remove`: the remaining backups can be restored as before, and kill -9 at any write loses none of them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findBackup } from '#backup/archive/repository.adapter.ts';
import type { BackupManifest } from '#backup/format/manifest.ts';
import { exportLines } from '#backup/inspect/export.ts';
import { removeBackups } from '#backup/merge/remove-backups.adapter.ts';
import { runMerge } from '#backup/merge/run-merge.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { lockFolder, shareFolder } from '#ports/folder-lock.ts';
import { realRandom } from '#ports/random.ts';
import { readByPageReader } from '../support/archive-page-reader.ts';
import { BackupHistory } from '../support/backup-history.ts';
import { type BucketState, backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { runCommand } from '../support/command.ts';
import { FolderStates } from '../support/folder-states.ts';
import { killedAtCall, stoppedAtCalls } from '../support/killed-command.ts';
import { needs } from '../support/needs.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { aSeed, randomFrom } from '../support/random.ts';

const backupsMade = 5;
/** With DIVAN_ALL_KILLS=1 every write of a block is interrupted, else some of them. */
const killsAtEachWrite = process.env['DIVAN_ALL_KILLS'] === '1';

describe('divan backup merge and remove', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-merge-'));
  const folder = join(scratch, 'archive');
  /** Names of the backups, from the oldest on. */
  const names: string[] = [];
  const states = new Map<string, BucketState>();
  let node: NodeProcess;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    const access = backupNode(node);
    await access.addCollections('b', { scopes: ['shop'], collections: [] });
    const history = await BackupHistory.start(randomFrom(11), access, 'b');
    for (let round = 0; round < backupsMade; round++) {
      await history.step(100);
      const { backup } = JSON.parse(await succeeds('backup', folder, '--bucket', 'b', '--json'));
      names.push(backup);
      states.set(backup, await stateOf(access, 'b'));
    }
    history.close();
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const divan = (...args: string[]) =>
    runCommand(args, { DIVAN_PASSWORD: administrator.password, DIVAN_URL: node.ready.node.rest });

  async function succeeds(...args: string[]): Promise<string> {
    const { status, out, error } = await divan(...args);
    assert.deepEqual([status, error], [0, ''], args.join(' '));
    return out;
  }

  async function fails(expected: RegExp, ...args: string[]): Promise<void> {
    const { status, error } = await divan(...args);
    assert.match(error, expected);
    assert.notEqual(status, 0);
  }

  let copies = 0;
  function copyOf(original = folder): string {
    const copy = join(scratch, `copy-${copies++}`);
    cpSync(original, copy, { recursive: true });
    return copy;
  }

  async function restoredState(copy: string, name: string): Promise<BucketState> {
    await succeeds('restore', copy, '--backup', name, '--map', 'b=copy');
    const found = await stateOf(backupNode(node), 'copy');
    await node.request('/pools/default/buckets/copy', 'DELETE');
    return found;
  }

  async function keeps(copy: string, name: string): Promise<void> {
    const expected = states.get(name) as BucketState;
    assert.deepEqual(differences(expected, await restoredState(copy, name)).slice(0, 3), [], name);
  }

  const listed = async (copy: string): Promise<{ name: string; type: string }[]> =>
    JSON.parse(await succeeds('backup', 'list', copy, '--json'));

  it('keep the state of the last merged backup, and of all backups outside of the range', async () => {
    const copy = copyOf();
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = names;
    assert.match(
      await succeeds('backup', 'merge', copy, '--start', second, '--end', fourth),
      /3 backups merged into/,
    );
    assert.deepEqual(
      (await listed(copy)).map(({ name, type }) => [name, type]),
      [
        [first, 'full'],
        [fourth, 'incremental'],
        [fifth, 'incremental'],
      ],
    );
    for (const name of [first, fourth, fifth]) await keeps(copy, name);
    await succeeds('backup', 'verify', copy);
    await fails(/has no complete backup/, 'restore', copy, '--backup', third);
    const { merged } = findBackup(copy).repository.manifest(fourth);
    assert.deepEqual([merged?.generation, merged?.backups], [1, [second, third, fourth]]);
    // Merges again: one of the backups is a merged one.
    const all = JSON.parse(await succeeds('backup', 'merge', copy, '--json'));
    assert.deepEqual([all.name, all.type, all.merged], [fifth, 'full', [first, fourth, fifth]]);
    await keeps(copy, fifth);
    await succeeds('backup', 'verify', copy);
    assert.deepEqual(readdirSync(join(copy, fifth)).sort(), ['0.1.data', 'manifest.json', 'manifest.sha256']);
    assert.match(await succeeds('backup', copy, '--bucket', 'b'), /incremental backup/);
    await keeps(copy, names.at(-1) as string);
  });

  it('write each document once, and none of dropped collections', async () => {
    const copy = copyOf();
    const exported = (await succeeds('backup', 'export', copy)).trim().split('\n').sort();
    // Backups of today and yesterday: midnight may have passed since they were made.
    await succeeds('backup', 'merge', copy, '--days-ago', '0-1');
    const [bucket] = JSON.parse(await succeeds('backup', 'info', copy, '--json')).buckets;
    assert.equal(bucket.documents, exported.length);
    assert.equal(bucket.documents + bucket.deletions, states.get(names.at(-1) as string)?.size);
    assert.deepEqual((await succeeds('backup', 'export', copy)).trim().split('\n').sort(), exported);
    assert.equal(readByPageReader(join(copy, names.at(-1) as string)).length, exported.length);
  });

  it('say what cannot be merged or removed, and change nothing then', async () => {
    const copy = copyOf();
    const [first = '', second = '', third = '', fourth = '', last = ''] = names;
    await fails(/needs two or more backups; from .* there is one/, 'backup', 'merge', copy, '--start', last);
    await fails(/is newer than --end/, 'backup', 'merge', copy, '--start', last, '--end', first);
    await fails(/has no complete backup "none"/, 'backup', 'merge', copy, '--end', 'none');
    await fails(
      /continues .*: remove both, or merge them first/,
      'backup',
      'remove',
      copy,
      '--backup',
      third,
    );
    await fails(/has no backup "none"/, 'backup', 'remove', copy, '--backup', last, '--backup', 'none');
    await fails(/--backup is missing/, 'backup', 'remove', copy);
    await fails(/--days-ago: "7-1" is not a number of days/, 'backup', 'merge', copy, '--days-ago', '7-1');
    await fails(/they mean different backups/, 'backup', 'merge', copy, '--days-ago', '1', '--end', last);
    assert.match(await succeeds('backup', 'merge', copy, '--days-ago', '9000'), /nothing to merge/);
    assert.equal((await listed(copy)).length, backupsMade);
    assert.match(await succeeds('backup', 'remove', copy, '--backup', fourth, '--backup', last), /^removed /);
    assert.deepEqual(
      (await listed(copy)).map(({ name }) => name),
      [first, second, third],
    );
    await keeps(copy, third);
    writeFileSync(join(copy, 'merge.json'), '{"end":"../x","id":"","replaced":[]}');
    await fails(/merge.json is damaged/, 'backup', 'merge', copy);
  });

  it('are refused while another task writes to the repository or a restore reads it', async () => {
    const copy = copyOf();
    const last = names.at(-1) as string;
    const writers = [
      ['backup', copy, '--bucket', 'b'],
      ['backup', 'merge', copy],
      ['backup', 'remove', copy, '--backup', last],
    ];
    const restore = ['restore', copy, '--map', 'b=copy'];
    const reader = shareFolder(copy);
    for (const args of writers)
      await fails(new RegExp(`is in use: process ${process.pid} reads it`), ...args);
    await succeeds(...restore);
    reader.release();
    const writer = lockFolder(copy);
    for (const args of [...writers, restore])
      await fails(new RegExp(`is in use: process ${process.pid} writes there`), ...args);
    writer.release();
    assert.equal((await listed(copy)).length, backupsMade);
    for (const args of [restore, ...writers.slice(0, 2)]) await succeeds(...args);
    await node.request('/pools/default/buckets/copy', 'DELETE');
  });

  it('remove no backup when one of those to merge is damaged', async () => {
    const copy = copyOf();
    const data = join(copy, names[2] as string, '0.data');
    writeFileSync(data, 'damaged');
    await fails(/0\.data/, 'backup', 'merge', copy);
    assert.equal((await listed(copy)).length, backupsMade);
    assert.equal(existsSync(join(copy, 'merge.json')), false);
    assert.deepEqual(
      readdirSync(join(copy, names.at(-1) as string)).filter((file) => /\.1\./.test(file)),
      [],
    );
    await keeps(copy, names[1] as string);
  });

  it('leave the old backups or the merged one after kill -9 at a write, and the next merge completes the work', {
    skip: needs('compiler'),
  }, async (t) => {
    const random = aSeed(t);
    const [, , last = '', ...later] = names;
    const small = copyOf();
    removeBackups(small, later);
    const expected = exportedLines(small);
    const assertCompletes = async (copy: string, point: string): Promise<void> => {
      assert.deepEqual(exportedLines(copy), expected, `after a kill at ${point}`);
      await mergeAgain(copy);
      const { repository } = findBackup(copy);
      assert.deepEqual([repository.complete(), repository.partial()], [[last], []], point);
      const { generation } = repository.manifest(last).merged ?? {};
      const files = [`0.${generation}.data`, 'manifest.json', 'manifest.sha256'];
      assert.deepEqual(readdirSync(join(copy, last)).sort(), files, point);
      assert.deepEqual(exportedLines(copy), expected, `${point}, then merged`);
      execFileSync('sha256sum', ['-c', '--status', 'manifest.sha256'], { cwd: join(copy, last) });
      rmSync(copy, { recursive: true });
    };
    const killed = copyOf(small);
    assert.ok(await killedAtCall('rename', 1, ['backup', 'merge', killed]));
    await assertCompletes(killed, 'a rename');
    // Every call that orders the writes, but of the many calls of unlink every second one; and some calls that write blocks.
    const writes = [1, 2 + random(20), 2 + random(20)];
    const isWanted = (call: string, number: number): boolean =>
      killsAtEachWrite ||
      (call === 'pwritev' ? writes.includes(number) : call !== 'unlink' || number % 2 === 1);
    const hit = new Map<string, number>();
    const merged = copyOf(small);
    const states = new FolderStates(merged);
    const calls = ['fsync', 'rename', 'unlink', 'rmdir', 'pwritev'];
    await stoppedAtCalls(calls, ['backup', 'merge', merged], {}, (call) => {
      const number = (hit.get(call) ?? 0) + 1;
      hit.set(call, number);
      if (isWanted(call, number)) states.keep(`${call} ${number}`);
    });
    for (const { copy, point } of states.kept) await assertCompletes(copy, point);
    t.diagnostic(`${states.kept.length} states`);
    for (const call of calls) assert.ok(hit.has(call), `no ${call} was hit`);
  });
});

/** In this process: a command would take longer. */
async function mergeAgain(folder: string): Promise<void> {
  const { signal } = new AbortController();
  const context = { clock: realClock, random: realRandom, signal, progress: () => {} };
  await runMerge({ folder }, context).catch((error: Error) =>
    assert.match(error.message, /needs two or more backups/),
  );
}

/** The documents of the newest backup. */
function exportedLines(folder: string): string[] {
  const { repository } = findBackup(folder);
  const chain = repository.chain(repository.chosen(undefined));
  const records = (chain[0] as BackupManifest).buckets;
  return records.flatMap((record) => [...exportLines(repository, chain, record)]).sort();
}
