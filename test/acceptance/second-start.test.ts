// Wrong options of a first start, and options that a later start ignores or refuses.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { eventually, launcher, NodeProcess, portFlags } from '../support/node-process.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-second-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const run = (...args: string[]) =>
  spawnSync(process.execPath, [launcher, ...args], { encoding: 'utf8', timeout: 120_000 });

test('the node names wrong options of a first start before anything is created', () => {
  const dataDir = join(scratch, 'never');
  const wrong: readonly [string[], RegExp][] = [
    [['--username', 'A', '--password', 'short'], /^divan: --password: needs at least 6 characters\n/],
    [['--username', 'a b', '--password', 'password'], /^divan: --username: Username must not contain spaces/],
    [['--memory-quota', '99999999'], /^divan: --memory-quota: this machine allows at most \d+ MB\n/],
    [['--memory-quota', '10'], /^divan: --memory-quota: needs at least 256 MB\n/],
    [['--bucket', 'b', '--bucket', 'B'], /^divan: --bucket: "B" is given twice\n/],
  ];
  for (const [args, text] of wrong) {
    const ended = run('node', '--data-dir', dataDir, ...portFlags, ...args);
    assert.equal(ended.status, 2, args.join(' '));
    assert.match(ended.stderr, text);
    assert.equal(existsSync(dataDir), false, args.join(' '));
  }
});

test('the node prints which options a later start ignores', async () => {
  const dataDir = join(scratch, 'known');
  await using first = await NodeProcess.start({ dataDir });
  assert.doesNotMatch(first.output, /ignored/);
  await first.stop();
  await using second = await NodeProcess.start({
    dataDir,
    args: ['--bucket', 'late', '--memory-quota', '300'],
  });
  await eventually(() =>
    assert.match(second.output, /ignored +--bucket late, --memory-quota: this folder is already set up/),
  );
});

test('the node refuses a start with a login that the node does not accept', async () => {
  const dataDir = join(scratch, 'locked');
  await using first = await NodeProcess.start({ dataDir });
  await first.stop();
  const login = ['--username', 'Administrator', '--password', 'another-one'];
  const ended = run('node', '--data-dir', dataDir, ...portFlags, ...login);
  assert.equal(ended.status, 1);
  assert.match(ended.stderr, /--username and --password: .* is already set up, and "Administrator" cannot/);
  assert.equal(ended.stdout, '');
});

test('reset-password sets the password of a stopped node, and refuses for a running one', async () => {
  const dataDir = join(scratch, 'lost');
  await using first = await NodeProcess.start({ dataDir });
  const reset = ['reset-password', '--data-dir', dataDir, '--password'];
  assert.match(run(...reset, 'found-again').stderr, /in use by/);
  await first.stop();
  assert.match(run(...reset, 'short').stderr, /^divan: --password: The password must be at least 6/);
  assert.match(run(...reset, 'found-again').stdout, /"Administrator" with the new password/);
  await using second = await NodeProcess.start({ dataDir, password: 'found-again' });
  assert.equal(second.ready.password, 'found-again');
  const none = run('reset-password', '--data-dir', join(scratch, 'none'), '--password', 'password');
  assert.match(none.stderr, /--data-dir: there is no node in/);
  await second.stop();
  writeFileSync(join(dataDir, 'member.json'), JSON.stringify({ state: 'member' }));
  assert.match(
    run(...reset, 'password').stderr,
    /--data-dir: .* is a member of a cluster, .* use its folder/,
  );
});
