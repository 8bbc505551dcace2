// The commands and calls of the backup guide run as the guide prints them, with other addresses and folders.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { BackupApi } from '../support/backup-api.ts';
import { backupNode, stateOf } from '../support/bucket-state.ts';
import { administrator, eventually, launcher, NodeProcess } from '../support/node-process.ts';

const guide = readFileSync(new URL('../../docs/guides/backup.md', import.meta.url), 'utf8');

/** The commands of a section: indented lines. A line that begins with a further space continues the one before. */
function commandsOf(section: string): string[] {
  const [, text = ''] = guide.split(`## ${section}\n`);
  const commands: string[] = [];
  for (const line of (text.split('\n## ')[0] ?? '').split('\n')) {
    if (!line.startsWith('    ')) continue;
    const command = line.slice(4);
    if (command.startsWith(' ')) commands.push(`${commands.pop()}\n${command}`);
    else commands.push(command);
  }
  return commands;
}

/** The time fields at the start of a crontab line. */
const cronTime = /^[\d*-]+( [\d*-]+){4} /;

/** A program with the options of curl that the guide uses, so that the test needs no curl. */
const curl = `
const words = process.argv.slice(2);
const option = (name) => (words.includes(name) ? words.splice(words.indexOf(name), 2)[1] : undefined);
const [user, body, method] = [option('-u'), option('-d'), option('-X')];
const type = 'application/x-www-form-urlencoded';
const headers = { authorization: 'Basic ' + btoa(user), ...(body !== undefined && { 'content-type': type }) };
const answer = await fetch(words[0], { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, body });
process.stdout.write(await answer.text());
`;

describe('the commands of the backup guide', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-guide-backup-'));
  let node: NodeProcess;
  let api: BackupApi;

  before(async () => {
    writeFileSync(join(scratch, 'curl.mjs'), curl);
    const args = ['--services', 'kv,index,n1ql,backup', '--backup-root', scratch, '--bucket', 'travel'];
    node = await NodeProcess.start({ args });
    api = new BackupApi(node);
    const path = '/pools/default/buckets/travel/docs/first';
    assert.equal((await node.request(path, 'POST', { value: '{"n":1}' })).status, 200);
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const run = async (command: string): Promise<string> => {
    const { rest, backup = '' } = node.ready.node;
    const here = `curl() { '${process.execPath}' curl.mjs "$@"; }
openssl() { '${process.execPath}' -p 'crypto.randomBytes(24).toString("base64")'; }
divan() { '${process.execPath}' '${launcher}' "$@"; }
${command}`
      .replaceAll(/http:\/\/(127.0.0.1|old-node|new-node):8091/g, rest)
      .replaceAll('/etc/', `${scratch}/`)
      .replaceAll('http://127.0.0.1:8097', backup)
      .replaceAll('/var/backups', scratch)
      .replaceAll('npx divan', 'divan');
    const env = { ...process.env, DIVAN_PASSWORD: administrator.password, DIVAN_URL: rest };
    const { stdout } = await promisify(execFile)('sh', ['-c', here], { cwd: scratch, env });
    assert.doesNotMatch(stdout, /"status":[45]|"errors"/, command);
    return stdout;
  };

  it('save and reset test data', async () => {
    const commands = commandsOf('Save and reset test data');
    assert.equal(commands.length, 3);
    const [enable = '', save = '', reset = ''] = commands;
    await run(enable);
    await run(save);
    await node.request('/pools/default/buckets/travel/docs/second', 'POST', { value: '{"n":2}' });
    await run(reset);
    const mutations = [...(await stateOf(backupNode(node), 'travel'))].filter(
      ([, { kind }]) => kind === 'mutation',
    );
    assert.deepEqual(
      mutations.map(([key]) => key),
      ['_default._default/first'],
    );
  });

  it('back up each night, and merge', async () => {
    writeFileSync(join(scratch, 'divan-backup.env'), `DIVAN_PASSWORD=${administrator.password}\n`);
    const commands = commandsOf('Nightly backups').map((line) => line.replace(cronTime, ''));
    assert.equal(commands.length, 5);
    const [nightly = '', weekly = '', daily = '', merge = '', mergeDays = ''] = commands;
    assert.match(await run(nightly), /^full backup/m);
    assert.match(await run(daily), /^incremental backup/m);
    const newest = JSON.parse(await run('divan backup list /var/backups/divan --json')).at(-1).name;
    assert.match(await run(merge.replace(/--end \S+/, `--end ${newest}`)), /^2 backups merged/m);
    assert.match(await run(weekly), /^full backup/m);
    await run(mergeDays);
  });

  it('move data to another node and to other names', async () => {
    const [save = '', ...restores] = commandsOf('Move data to another node');
    assert.equal(restores.length, 3);
    const scopes = '/pools/default/buckets/travel/scopes';
    assert.equal((await node.request(scopes, 'POST', { name: 'inventory' })).status, 200);
    const airline = { name: 'airline' };
    assert.equal((await node.request(`${scopes}/inventory/collections`, 'POST', airline)).status, 200);
    await run(save);
    for (const command of restores) await run(command);
    const copy = await stateOf(backupNode(node), 'travel_copy');
    assert.ok(copy.has('_default._default/first'));
    const { collections } = await backupNode(node).scopes('shop');
    assert.ok(collections.some(({ scope, name }) => `${scope}.${name}` === 'stock.airlines'));
    for (const bucket of ['travel_copy', 'shop'])
      assert.equal((await node.request(`/pools/default/buckets/${bucket}`, 'DELETE')).status, 200);
  });

  it('encrypt with a passphrase from a file and from the environment', async () => {
    const commands = commandsOf('Encrypted backups').map((line) =>
      line.replace('/var/backups/divan', '/var/backups/sealed'),
    );
    assert.equal(commands.length, 3);
    for (const command of commands) await run(command);
  });

  it('make a plan and a repository, back up, show and restore', async () => {
    const calls = commandsOf('Backups by plan').filter((command) => command.startsWith('curl'));
    assert.equal(calls.length, 5);
    const untilIdle = () =>
      eventually(async () => {
        const tasks = await api.history('travel');
        assert.ok(tasks.every(({ status }) => status !== 'running'));
      });
    for (const call of calls.slice(0, 3)) await run(call);
    await untilIdle();
    assert.match(await run(calls[3] as string), /"count":1/);
    assert.match(await run(calls[4] as string), /"task_name":"restore-/);
    await untilIdle();
    const [restored] = await api.history('travel');
    assert.deepEqual([restored?.type, restored?.status, restored?.error], ['RESTORE', 'done', undefined]);
    assert.deepEqual([...(await stateOf(backupNode(node), 'copy')).keys()], ['_default._default/first']);
    const { tasks } = await api.json('GET', '/plan/nightly');
    assert.equal(tasks.length, 2);
  });
});
