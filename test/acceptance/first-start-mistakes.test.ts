// Mistakes at a first start: one line names the position and the value, and the start leaves nothing behind.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { eventually, launcher, NodeProcess, portFlags } from '../support/node-process.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-mistakes-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const credentials = ['--username', 'Administrator', '--password', 'password'];
let folders = 0;

function run(...args: string[]) {
  const options = { encoding: 'utf8', timeout: 120_000 } as const;
  return spawnSync(process.execPath, [launcher, ...args], options);
}

function start(plan: unknown, ...more: string[]) {
  const folder = join(scratch, String(++folders));
  const init = join(scratch, `${folders}.json`);
  writeFileSync(init, JSON.stringify(plan));
  const flags = ['--data-dir', folder, '--init', init, ...credentials, ...portFlags];
  return { folder, init, ...run('node', ...flags, ...more) };
}

/** Each mistake is reported with its position in the file. */
const mistaken = {
  buckets: [
    {
      name: 'a',
      parameters: { evictionPolicy: 'never' },
      scopes: [{ name: '_s' }, { name: 's', collections: ['c', { name: 'c' }] }],
      documents: [
        { key: 'k', value: 1, scope: '_default', collection: 'nix' },
        { key: 'k', value: 1, scope: 'nix', collection: 'c' },
        { key: 'k'.repeat(251), value: 1 },
      ],
    },
    { name: 'b', ramQuotaMB: 50 },
    { name: 'a b' },
  ],
  users: [
    { name: 'app', password: 'short', roles: ['nobody', 'data_reader[nix]'] },
    { name: '@app', password: 'password' },
  ],
};
const problems = [
  'buckets.0.parameters.evictionPolicy: "never": ',
  'buckets.0.scopes.0.name: "_s": First character must not be _ or %',
  'buckets.0.scopes.1.collections.1: "c": is listed twice',
  'buckets.0.documents.0.collection: "nix": scope "_default" of bucket "a" has no such collection',
  'buckets.0.documents.1.scope: "nix": bucket "a" has no such scope',
  'has more than 250 bytes',
  'buckets.1.ramQuotaMB: "50": RAM quota cannot be less than 100 MB',
  'buckets.2.name: "a b": ',
  'users.0.password: The password must be at least 6 characters long.',
  'users.0.roles.0: "nobody": is not a role',
  'users.0.roles.1: "data_reader[nix]": names a bucket, scope or collection that neither the init file nor --bucket creates',
  `users.1.name: "@app": Username cannot start with '@'`,
];
const largeQuotas = {
  buckets: [
    { name: 'a', ramQuotaMB: 200 },
    { name: 'b', ramQuotaMB: 200 },
  ],
};
const plans: Record<string, { plan: unknown; messages: string[] }> = {
  mistakes: { plan: mistaken, messages: problems },
  'quotas that are too large together': {
    plan: largeQuotas,
    messages: ['buckets.1.ramQuotaMB: "200": RAM quota specified is too large'],
  },
};

describe('an init file with', () => {
  for (const [what, { plan, messages }] of Object.entries(plans)) {
    test(`${what} is refused before anything starts, with the position and value of each mistake`, () => {
      const { status, stderr, init, folder } = start(plan, '--memory-quota', '300');
      assert.equal(status, 2, stderr);
      for (const text of messages) assert.ok(stderr.includes(text), `${text}: ${stderr}`);
      assert.equal(stderr.split(`--init: ${init}: `).length - 1, messages.length, stderr);
      assert.doesNotMatch(stderr, /\n {4}at |short/);
      assert.equal(existsSync(folder), false);
    });
  }
});

test('a mistake in a bucket of the command line names the option', () => {
  const folder = join(scratch, 'flag');
  const { status, stderr } = run(
    'node',
    '--data-dir',
    folder,
    ...credentials,
    ...portFlags,
    '--bucket',
    'a:native:50',
  );
  assert.equal(status, 2);
  assert.match(stderr, /^divan: --bucket a\.ramQuotaMB: "50": RAM quota cannot be less than 100 MB$/m);
  assert.equal(existsSync(folder), false);
});

test('a valid init file is applied completely', async () => {
  const init = join(scratch, 'whole.json');
  const scopes = [
    { name: 's', collections: ['c', { name: 'd', maxTTL: 60 }] },
    { name: '_default', collections: ['e'] },
  ];
  const documents = [
    { key: 'k', value: 1, scope: 's', collection: 'd' },
    { key: 'k', value: 1, collection: 'e' },
  ];
  const roles = ['data_reader[*]', 'data_writer[a:s:c]', 'ro_admin'];
  const plan = {
    users: [{ name: 'app', password: 'password', roles }],
    buckets: [{ name: 'a', scopes, documents }],
  };
  writeFileSync(init, JSON.stringify(plan));
  await using node = await NodeProcess.start({ args: ['--init', init] });
  assert.equal((await node.request('/settings/rbac/users/local/app')).status, 200);
});

test('an interrupted first start reports how to continue', async () => {
  const dataDir = join(scratch, 'unfinished');
  {
    await using node = await NodeProcess.start({ dataDir });
    await node.stop();
  }
  writeFileSync(join(dataDir, 'first-start.pending'), '');
  await using node = await NodeProcess.start({ dataDir, unprovisioned: true });
  await eventually(() =>
    assert.match(node.output, /next +the first start was not finished: start once more with its --username/),
  );
});

const withoutRights = { skip: process.getuid?.() === 0 ? false : 'needs root, which can drop its rights' };

/** Errors that a user can cause. The node starts in spite of some of them. */
const wrong: Record<string, (folder: string) => { args: string[]; message: RegExp }> = {
  'a ready file in a folder that is not there': (folder) => ({
    args: ['node', '--data-dir', folder, '--ready-file', join(folder, 'none', 'ready.json')],
    message: /^divan: --ready-file: cannot write .*none\/ready\.json: ENOENT/,
  }),
  'a ready file that is a folder': (folder) => ({
    args: ['node', '--data-dir', join(folder, 'd'), '--ready-file', folder],
    message: /^divan: --ready-file: cannot write .*: it is a folder/,
  }),
  'a ready file of the cloud in a folder that is not there': (folder) => ({
    args: ['cloud', '--port', '0', '--data-dir', folder, '--ready-file', join(folder, 'none', 'ready.json')],
    message: /^divan: --ready-file: cannot write .*none\/ready\.json: ENOENT/,
  }),
  'a configuration of the cloud that is not JSON': (folder) => {
    writeFileSync(join(folder, 'config'), '{');
    return {
      args: ['cloud', '--port', '0', '--data-dir', join(folder, 'd'), '--config', join(folder, 'config')],
      message: /^divan: --config: .*config is not JSON: /,
    };
  },
  'a database of the cloud that is something else': (folder) => {
    writeFileSync(join(folder, 'other.db'), 'x'.repeat(5000));
    return {
      args: ['cloud', '--port', '0', '--data-dir', join(folder, 'd'), '--database', join(folder, 'other.db')],
      message: /^divan: --database: cannot use .*other\.db: file is not a database/,
    };
  },
  'a data folder below a file': (folder) => {
    writeFileSync(join(folder, 'file'), '');
    return {
      args: ['node', '--data-dir', join(folder, 'file', 'data')],
      message: /^divan: --data-dir: cannot use .*ENOTDIR/,
    };
  },
  'a folder of events that is a file': (folder) => {
    writeFileSync(join(folder, 'events'), '');
    return {
      args: ['node', '--data-dir', folder, ...credentials],
      message: /"reason":"ENOTDIR: .*"msg":"event\.not_stored"/,
    };
  },
  'a folder of buckets that is a file': (folder) => {
    writeFileSync(join(folder, 'buckets'), '');
    return {
      args: ['node', '--data-dir', folder, ...credentials, '--bucket', 'b'],
      message: /^divan: first start: bucket "b": .*buckets.*: ENOTDIR: [^\n]*\ndivan: .*start again/m,
    };
  },
  'a reserve file that is a folder': (folder) => {
    mkdirSync(join(folder, 'reserve'));
    return {
      args: ['node', '--data-dir', folder],
      message: /^divan: cannot reserve disk space in .*reserve: it is not a file; rename it/,
    };
  },
  'a lock file that is a folder': (folder) => {
    mkdirSync(join(folder, 'lock.db'));
    return { args: ['node', '--data-dir', folder], message: /^divan: cannot lock the data folder/ };
  },
};

describe('no stack trace for', () => {
  for (const [what, prepare] of Object.entries(wrong)) {
    test(what, async (t) => {
      const folder = join(scratch, String(++folders));
      mkdirSync(folder);
      const { args, message } = prepare(folder);
      const more = args[0] === 'node' ? portFlags : [];
      const child = spawn(process.execPath, [launcher, ...args, ...more], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      t.after(() => child.kill('SIGKILL'));
      const ended = once(child, 'exit');
      const printed = { out: '', error: '' };
      child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk));
      child.stderr.on('data', (chunk: Buffer) => (printed.error += chunk));
      await eventually(() => assert.ok(child.exitCode !== null || /is ready/.test(printed.out)));
      child.kill('SIGTERM');
      await ended;
      assert.match(printed.error, message);
      assert.doesNotMatch(printed.error, /\n {4}at /);
    });
  }

  test('a file of the data folder that may not be read', withoutRights, () => {
    const folder = join(scratch, 'unreadable');
    mkdirSync(folder, { mode: 0o777 });
    chmodSync(scratch, 0o755);
    writeFileSync(join(folder, 'secret.key'), Buffer.alloc(32), { mode: 0 });
    const options = { encoding: 'utf8', timeout: 120_000, uid: 65_534, gid: 65_534 } as const;
    const { stderr, status } = spawnSync(
      process.execPath,
      [launcher, 'node', '--data-dir', folder, ...portFlags],
      options,
    );
    assert.equal(status, 1);
    assert.match(stderr, /^divan: /m);
    assert.doesNotMatch(stderr, /\n {4}at /, stderr);
  });
});
