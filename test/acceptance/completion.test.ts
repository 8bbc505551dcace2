// The completion scripts of shells: bash runs its script; zsh and fish check the syntax of theirs where they are installed.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { launcher } from '../support/node-process.ts';

const scriptOf = (shell: string): string =>
  execFileSync(process.execPath, [launcher, 'completion', shell], { encoding: 'utf8' });

/** What bash offers for the last of these words, which may be incomplete. */
function offered(script: string, ...words: string[]): string[] {
  const list = ['divan', ...words].map((word) => `'${word}'`).join(' ');
  const text = `${script}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length}; _divan; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', text], { encoding: 'utf8', cwd: '/' });
  assert.equal(stderr, '');
  return stdout.split('\n').filter((line) => line !== '');
}

test('bash completes commands, verbs, options, values and files', () => {
  const script = scriptOf('bash');
  assert.deepEqual(offered(script, 'exp'), ['export']);
  assert.deepEqual(offered(script, 'buc'), ['bucket']);
  assert.ok(['list', 'create', 'compact'].every((verb) => offered(script, 'bucket', '').includes(verb)));
  assert.deepEqual(offered(script, 'bucket', 'create', '--ty'), ['--type']);
  assert.deepEqual(offered(script, 'bucket', 'create', 'name', '--type', 'e'), ['ephemeral']);
  assert.deepEqual(offered(script, 'cloud', 'token', 'cr'), ['create']);
  assert.deepEqual(offered(script, 'backup', 'exa'), ['examine']);
  assert.deepEqual(offered(script, 'node', '--rest-p'), ['--rest-port']);
  assert.deepEqual(offered(script, 'node', '--data-dir', 'et'), ['etc']);
  assert.deepEqual(offered(script, 'restore', '--no-such'), []);
  assert.deepEqual(
    offered(script, 'user', 'list', '--username', 'et'),
    [],
    'files are offered for an option whose value is a text',
  );
  assert.deepEqual(
    offered(script, 'import', 'et'),
    ['etc'],
    'no file is offered for an argument that is a file',
  );
});

for (const shell of ['bash', 'zsh', 'fish'])
  test(`the script of ${shell} has every command and its syntax is right`, (t) => {
    const script = scriptOf(shell);
    const overview = execFileSync(process.execPath, [launcher, '--help'], { encoding: 'utf8' });
    const commands = [...overview.matchAll(/^ {2}divan ([a-z-]+) /gm)].map(([, name]) => name as string);
    assert.ok(commands.length > 15);
    for (const name of commands) assert.ok(script.includes(`'/${name}'`), name);
    const check = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' });
    if (check.error !== undefined) t.diagnostic(`${shell} is not installed: its syntax was not checked`);
    else assert.deepEqual([check.status, check.stderr], [0, '']);
  });

test('another shell is refused', () => {
  const { status, stderr } = spawnSync(process.execPath, [launcher, 'completion', 'csh'], {
    encoding: 'utf8',
  });
  assert.equal(status, 2);
  assert.match(stderr, /^divan: give the shell: divan completion bash, zsh or fish\n/);
});
