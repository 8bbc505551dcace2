// Mistakes of the operator on the command line and in a configuration file: reported in a sentence, without a stack.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { operator } from '../support/cloud-operator.ts';
import { launcher } from '../support/node-process.ts';

const token = 'x'.repeat(32);
const otherToken = 'y'.repeat(32);
const unknownProject = '00000000-0000-4000-8000-000000000000';
const west = { name: 'west', provider: 'gcp', region: 'us-west1', cidr: '10.2.0.0/16' };
const ada = { name: 'Ada', email: 'ada@example.com' };

describe('an operator', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'divan-operator-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const start = (...args: string[]) => {
    const { stderr, status } = spawnSync(process.execPath, [launcher, 'cloud', '--port', '0', ...args], {
      encoding: 'utf8',
      timeout: 120_000,
    });
    return { stderr, status };
  };

  function refuses({ stderr, status }: { stderr: string; status: number | null }, message: RegExp): void {
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /\n {4}at /);
    assert.notEqual(status, 0);
  }

  test('gets the field and the problem of each mistake in a configuration file', () => {
    const config = join(folder, 'config.json');
    const reader = { role: 'reader', token };
    // One start names all mistakes of form; equal entries are sought once the form is right, projects once the database is open.
    const mistakes: [config: unknown, messages: RegExp[]][] = [
      [[], [/config\.json: body: must be an object/]],
      [
        {
          cloud: [],
          clouds: [{ name: 'w' }],
          users: [ada, ada],
          tokens: [
            { ...reader, role: 'god' },
            { ...reader, token: 'short' },
            { ...reader, token: `${token}:` },
            { ...reader, role: 'projectOwner' },
            { ...reader, project: unknownProject },
          ],
        },
        [
          /[:;] cloud: unknown field/,
          /[:;] clouds\.0\.provider: is missing: it must be one of aws, azure, gcp/,
          /[:;] users: must not contain the same email twice/,
          /[:;] tokens\.0\.role: must be one of organizationOwner/,
          /[:;] tokens\.1\.token: must have 32 to 256 characters/,
          /[:;] tokens\.2\.token: must be ASCII without spaces and colons/,
          /[:;] tokens\.3\.project: .*is required with the roles/,
          /[:;] tokens\.4\.project: is required with the roles/,
        ],
      ],
      [
        { clouds: [west, west], tokens: [reader, reader] },
        [
          /[:;] clouds: must not contain the same name twice/,
          /[:;] tokens: must not contain the same token twice/,
        ],
      ],
      [
        { tokens: [token, otherToken].map((value) => ({ ...reader, token: value, accessKey: 'same-key' })) },
        [/: tokens: must not contain the same accessKey twice/],
      ],
      [
        { tokens: [{ role: 'projectOwner', token, project: unknownProject }] },
        [/: tokens\.0\.project: there is no project/],
      ],
    ];
    for (const [given, messages] of mistakes) {
      writeFileSync(config, JSON.stringify(given));
      const ended = start('--data-dir', join(folder, 'configured'), '--config', config);
      for (const message of messages) refuses(ended, message);
    }
  });

  test('gets an error for an access key that another token has', () => {
    const config = join(folder, 'keys.json');
    const dataDir = join(folder, 'keys');
    const creation = operator({ dataDir }, 'token', 'create', '--role', 'reader', '--json');
    const { accessKey } = JSON.parse(creation.stdout) as { accessKey: string };
    writeFileSync(config, JSON.stringify({ tokens: [{ role: 'reader', token, accessKey }] }));
    refuses(start('--data-dir', dataDir, '--config', config), /: tokens\.0\.accessKey: another token has it/);
  });

  test('gets the reason of a refused command, and a note when a command created a cloud', () => {
    const cloud = { dataDir: join(folder, 'new') };
    refuses(
      operator(cloud, 'token', 'revoke'),
      /^divan: ID is missing; the form is divan cloud token revoke ID\n/,
    );
    refuses(operator(cloud, 'user', 'list'), /^divan: --data-dir: there is no cloud in .*new\n$/);
    const forProject = ['--role', 'projectOwner', '--project', unknownProject];
    refuses(
      operator(cloud, 'token', 'create', ...forProject),
      /^divan: --data-dir: there is no cloud in .*new\n$/,
    );
    assert.equal(existsSync(cloud.dataDir), false);
    const first = operator(cloud, 'user', 'add', ada.name, ada.email);
    assert.equal(first.status, 0);
    assert.match(first.stderr, /created a new cloud in .*new/);
    const second = operator(cloud, 'user', 'add', ada.name, ada.email);
    refuses(second, /^divan: email: there is a user ada@example\.com already\n$/);
    refuses(
      operator(cloud, 'user', 'remove', 'bob@example.com'),
      /^divan: there is no user bob@example\.com\n$/,
    );
  });

  test('finds every command and its options in the help', () => {
    const help = (...args: string[]) =>
      spawnSync(process.execPath, [launcher, ...args], { encoding: 'utf8' }).stdout;
    assert.match(
      help('cloud', '--help'),
      /--size-scale SHARE .*\(default 1\/64\).*divan cloud token create /s,
    );
    assert.match(help('cloud', 'token', '--help'), /^Commands .*divan cloud token revoke ID/s);
    assert.match(help('help', 'cloud', 'token', 'create'), /--role organizationOwner\|.*\n.*\(required\)/);
    assert.doesNotMatch(help('cloud', 'token', 'create', '--help'), /--size-scale/);
    assert.match(help('--version'), /^divan \d+\.\d+\.\d+\n$/);
    refuses(
      operator({ dataDir: folder }, 'token', 'creat'),
      /no command "cloud token creat"\. Did you mean "divan cloud token create"\?/,
    );
  });

  test('gets an error for an unusable database, without its password', () => {
    const dataDir = join(folder, 'unused');
    const unreachable = start('--data-dir', dataDir, '--database', 'postgres://u:secret-7@127.0.0.1:1/x');
    refuses(unreachable, /^divan: --database: cannot use 127\.0\.0\.1:1\/x: .*ECONNREFUSED/);
    assert.doesNotMatch(unreachable.stderr, /secret-7/);
    refuses(
      start('--data-dir', dataDir, '--database', join(folder, 'nowhere', 'x.db')),
      /^divan: --database: cannot use .*x\.db: ENOENT: no such file or directory/,
    );
  });

  test('cannot choose a file or a folder with files of other users as data folder, and both keep their permissions', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '', { mode: 0o644 });
    refuses(start('--data-dir', file), /^divan: --data-dir: cannot use .*file: it is a file/);
    assert.equal(statSync(file).mode & 0o7777, 0o644);
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    refuses(operator({ dataDir: shared }, 'token', 'list'), /--data-dir: there is no cloud in .*shared\n$/);
    const creation = operator({ dataDir: shared }, 'token', 'create', '--role', 'reader');
    assert.deepEqual([creation.status, statSync(shared).mode & 0o7777], [0, 0o700]);
    chmodSync(shared, 0o1777);
    refuses(
      start('--data-dir', shared),
      /--data-dir: cannot use .*shared: other users have files there, too/,
    );
    assert.equal(statSync(shared).mode & 0o7777, 0o1777);
  });
});
