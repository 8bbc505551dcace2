// The commands `divan backup` and `divan restore` with a real node: what a developer does with them, and their errors.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Cluster, Collection } from 'couchbase';
import { lockFolder } from '#ports/folder-lock.ts';
import { readByPageReader } from '../support/archive-page-reader.ts';
import { backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { runCommand } from '../support/command.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const initFile = {
  buckets: [
    {
      name: 'travel',
      parameters: { flushEnabled: 1 },
      scopes: [{ name: 'inventory', collections: ['airline', { name: 'route', maxTTL: 4000 }] }],
    },
    { name: 'guarded' },
    { name: 'old', type: 'memcached' },
  ],
  users: [
    { name: 'keeper', password: 'password', roles: ['data_backup[travel]'] },
    { name: 'reader', password: 'password', roles: ['data_reader[travel]'] },
  ],
  statements: ['CREATE INDEX by_n ON travel.inventory.airline(n)'],
};

describe('divan backup and restore', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-'));
  let node: NodeProcess;
  let cluster: Cluster;
  let airlines: Collection;
  let repositories = 0;
  /** The repository of the test. */
  let folder = '';

  before(async () => {
    const init = join(scratch, 'init.json');
    writeFileSync(init, JSON.stringify(initFile));
    node = await NodeProcess.start({ args: ['--init', init] });
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    airlines = cluster.bucket('travel').scope('inventory').collection('airline');
  });
  beforeEach(() => {
    folder = join(scratch, `repository-${repositories++}`);
  });
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const divan = (...args: string[]) =>
    runCommand(args, { DIVAN_URL: node.ready.node.rest, DIVAN_PASSWORD: administrator.password });

  async function succeeds(...args: string[]): Promise<string> {
    const { status, out, error } = await divan(...args);
    assert.deepEqual([status, error], [0, ''], args.join(' '));
    return out;
  }

  async function fails(expected: RegExp, args: readonly string[], code = 1): Promise<void> {
    const { status, error } = await divan(...args);
    assert.match(error, expected, args.join(' '));
    assert.equal(status, code);
    assert.doesNotMatch(error, /\n +at /, 'no stack');
  }

  it('save test data, and restore it whatever the test has changed', async () => {
    for (let n = 0; n < 50; n++) await airlines.upsert(`a${n}`, { n });
    const saved = await stateOf(backupNode(node), 'travel');
    assert.match(await succeeds('backup', folder), /travel: 50 documents, 0 deletions/);
    await airlines.upsert('a1', { n: 'changed' });
    await airlines.remove('a2');
    await airlines.upsert('other', {});
    assert.match(
      await succeeds('restore', folder, '--replace', '--bucket', 'travel'),
      /travel: 50 documents/,
    );
    assert.deepEqual(differences(saved, await stateOf(backupNode(node), 'travel')), []);
  });

  it('keep newer documents without --replace and --force-updates, and say so', async () => {
    await airlines.upsert('k', { n: 1 });
    await succeeds('backup', folder, '--bucket', 'travel');
    await airlines.upsert('k', { n: 2 });
    assert.match(await succeeds('restore', folder), /skipped, since the bucket has them or newer ones/);
    assert.deepEqual((await airlines.get('k')).content, { n: 2 });
    await succeeds('restore', folder, '--force-updates');
    assert.deepEqual((await airlines.get('k')).content, { n: 1 });
  });

  it('copy data to other names, making buckets, scopes and collections', async () => {
    await airlines.upsert('k', { n: 1 });
    await succeeds('backup', folder, '--bucket', 'travel');
    const maps = ['--map', 'travel=copy', '--map', 'travel.inventory.airline=copy.stock.lines'];
    const out = await succeeds('restore', folder, ...maps);
    assert.match(out, /bucket "copy" was created/);
    assert.match(out, /indexes of bucket "travel" were left out/);
    const { collections } = await backupNode(node).scopes('copy');
    const paths = collections.map(({ scope, name, maxTtl }) => `${scope}.${name}:${maxTtl}`);
    assert.deepEqual(paths.sort(), ['_default._default:0', 'inventory.route:4000', 'stock.lines:0']);
    assert.ok((await stateOf(backupNode(node), 'copy')).has('stock.lines/k'));
    await fails(/--map: the backup has no bucket, scope or collection "x"/, [
      'restore',
      folder,
      '--map',
      'x=y',
    ]);
    await fails(/must have as many names as "travel.inventory"/, [
      'restore',
      folder,
      '--map',
      'travel.inventory=y',
    ]);
    await fails(/"travel" is not of the form a=b/, ['restore', folder, '--map', 'travel']);
    await fails(/no bucket "none"; create it/, [
      'restore',
      folder,
      '--map',
      'travel=none',
      '--create-buckets=false',
    ]);
    await node.request('/pools/default/buckets/copy', 'DELETE');
  });

  it('copy all data to another node, with its indexes', async () => {
    await airlines.upsert('k', { n: 1 });
    await succeeds('backup', folder, '--bucket', 'travel');
    await using other = await NodeProcess.start();
    const args = ['restore', folder, '--url', other.ready.node.rest];
    const { status, out } = await runCommand(args, { DIVAN_PASSWORD: administrator.password });
    assert.equal(status, 0);
    assert.match(out, /1 index created/);
    const [from, to] = [backupNode(node), backupNode(other)];
    assert.deepEqual(differences(await stateOf(from, 'travel'), await stateOf(to, 'travel')), []);
    assert.deepEqual(await to.indexes('travel'), await from.indexes('travel'));
    assert.deepEqual((await to.bucket('travel'))?.settings, (await from.bucket('travel'))?.settings);
  });

  it('list, describe, verify, examine and export backups', async () => {
    await airlines.upsert('first', { n: 1 });
    await succeeds('backup', folder, '--bucket', 'travel');
    await airlines.upsert('first', { n: 2 });
    await airlines.upsert('big', { n: 12345678901234 });
    const { backup, type, buckets } = JSON.parse(
      await succeeds('backup', folder, '--json', '--bucket', 'travel'),
    );
    assert.deepEqual([type, buckets[0].documents], ['incremental', 2]);
    await airlines.remove('first');
    await succeeds('backup', folder, '--bucket', 'travel', '--full');
    const listed = JSON.parse(await succeeds('backup', 'list', folder, '--json')) as { type: string }[];
    assert.deepEqual(
      listed.map((one) => one.type),
      ['full', 'incremental', 'full'],
    );
    assert.match(await succeeds('backup', 'list', folder), /^backup +type +documents +deletions +size\n/);
    assert.match(await succeeds('backup', 'info', join(folder, backup)), /continues .*\nbucket +documents/);
    assert.match(
      await succeeds('backup', 'verify', folder, '--backup', backup),
      /intact\n {4}inventory.airline: 2\n/,
    );
    const key = ['--bucket', 'travel', '--scope', 'inventory', '--collection', 'airline', '--key', 'first'];
    const versions = JSON.parse(await succeeds('backup', 'examine', folder, ...key, '--json'));
    const seen = versions.map(({ deleted, value }: { deleted: boolean; value: unknown }) => [deleted, value]);
    assert.deepEqual(seen, [
      [false, { n: 1 }],
      [false, { n: 2 }],
      [true, null],
    ]);
    const lines = (await succeeds('backup', 'export', join(folder, backup))).trim().split('\n');
    assert.ok(
      lines.includes(
        '{"bucket":"travel","scope":"inventory","collection":"airline","key":"big","value":{"n":12345678901234}}',
      ),
    );
    assert.equal(new Set(lines).size, lines.length);
  });

  it('begin anew where the backup to continue is gone or damaged, and say so', async () => {
    await airlines.upsert('k', { n: 1 });
    await succeeds('backup', folder, '--bucket', 'travel');
    await succeeds('backup', folder, '--bucket', 'travel');
    const [first = ''] = backupsIn(folder);
    rmSync(join(folder, first), { recursive: true });
    await fails(/is no complete backup/, ['restore', folder]);
    const out = await succeeds('backup', folder, '--bucket', 'travel');
    assert.match(out, /earlier backups cannot be continued: .*no complete backup.*\nfull backup/);
    await succeeds('backup', 'verify', folder);
    assert.match(await succeeds('backup', folder, '--bucket', 'travel'), /incremental backup/);
    flip(join(folder, backupsIn(folder).at(-1) as string, 'manifest.json'), -20);
    const anew = await succeeds('backup', folder, '--bucket', 'travel');
    assert.match(anew, /earlier backups cannot be continued: .*manifest\.json.*\nfull backup/);
  });

  it('agree with the program of the reference page about the documents of a backup', async () => {
    await airlines.upsert('täst', { text: 'ü'.repeat(1000) });
    await airlines.remove('täst');
    await airlines.upsert('täst', { text: 'x'.repeat(2_000_000) });
    await succeeds('backup', folder, '--bucket', 'travel', '--full');
    const [name = ''] = backupsIn(folder);
    const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);
    const sorted = (lines: string[]) => lines.map((line) => JSON.parse(line)).sort(byKey);
    const exported = (await succeeds('backup', 'export', folder)).trim().split('\n');
    assert.deepEqual(sorted(readByPageReader(join(folder, name))), sorted(exported));
  });

  it('a node starts with the data of a backup, its indexes, and the documents of its init file', async () => {
    await airlines.upsert('k', { n: 1 });
    await airlines.upsert('j', { n: 1 });
    await succeeds('backup', folder, '--bucket', 'travel');
    const init = join(scratch, 'restore.json');
    const file = {
      restore: `./${basename(folder)}`,
      buckets: [
        {
          name: 'travel',
          ramQuotaMB: 128,
          scopes: [{ name: 'inventory', collections: ['airline'] }],
          documents: [{ key: 'j', value: 'of the file', scope: 'inventory', collection: 'airline' }],
        },
      ],
      users: [{ name: 'app', password: 'password', roles: ['data_reader[travel:inventory:route]'] }],
      statements: ['UPDATE travel.inventory.airline SET n = 7 WHERE n = 1 AND META().id = "k"'],
    };
    writeFileSync(init, JSON.stringify(file));
    await using started = await NodeProcess.start({ args: ['--init', init] });
    const [from, to] = [backupNode(node), backupNode(started)];
    const expected = await stateOf(from, 'travel');
    const found = await stateOf(to, 'travel');
    assert.equal(found.get('inventory.airline/k')?.body, '{"n":7}');
    assert.equal(found.get('inventory.airline/j')?.body, '"of the file"');
    for (const state of [expected, found])
      for (const key of ['k', 'j']) state.delete(`inventory.airline/${key}`);
    assert.deepEqual(differences(expected, found), []);
    assert.deepEqual(await to.indexes('travel'), await from.indexes('travel'));
    assert.equal((await to.bucket('travel'))?.settings['ramQuotaMB'], 128);
    writeFileSync(init, JSON.stringify({ ...file, restore: '/nowhere' }));
    await assert.rejects(NodeProcess.start({ args: ['--init', init] }), /restore: \/nowhere does not exist/);
  });

  it('the role data_backup suffices for a bucket, and data_reader does not', async () => {
    await airlines.upsert('k', { n: 1 });
    const as = (user: string) => ['--username', user, '--bucket', 'travel'];
    await succeeds('backup', folder, ...as('keeper'));
    await succeeds('restore', folder, ...as('keeper'), '--force-updates');
    await fails(/^divan: bucket "travel": the user may not read its changes \(role data_backup\)$/m, [
      'backup',
      `${folder}-reader`,
      ...as('reader'),
    ]);
  });

  it('say what is wrong: the node, the login, the folder, the options', async () => {
    await fails(/refuses the user "Administrator" with this password/, ['backup', folder, '--password', 'x']);
    await fails(/cannot reach 127.0.0.1:1: /, ['backup', folder, '--url', 'http://127.0.0.1:1']);
    await fails(/--url: .* has a path/, ['backup', folder, '--url', 'https://127.0.0.1:1/a'], 2);
    await fails(/the node has no bucket "none"/, ['backup', folder, '--bucket', 'none'], 4);
    await fails(/"old" is of type cache/, ['backup', folder, '--bucket', 'old']);
    await fails(/unknown option --ful; did you mean --full/, ['backup', folder, '--ful'], 2);
    await fails(/"more" is one word too many/, ['backup', folder, 'more'], 2);
    await fails(/FOLDER is missing/, ['restore'], 2);
    await fails(/--replace and --resume are given/, ['restore', folder, '--replace', '--resume'], 2);
    await fails(/does not exist/, ['restore', join(scratch, 'none')]);
    await fails(/--key is missing/, ['backup', 'examine', folder, '--bucket', 'b'], 2);
    mkdirSync(folder);
    await fails(/is not a repository of backups/, ['restore', folder]);
    writeFileSync(join(folder, 'mine.txt'), '');
    await fails(/has other files; give an empty folder/, ['backup', folder]);
    assert.deepEqual(readdirSync(folder), ['mine.txt']);
    await succeeds('backup', `${folder}-2`, '--bucket', 'guarded');
    await fails(/--replace: flush is not enabled for bucket "guarded"/, [
      'restore',
      `${folder}-2`,
      '--replace',
    ]);
    const travel = [`${folder}-2`, '--bucket', 'travel'];
    await fails(/has no bucket "travel"; it has guarded/, ['restore', ...travel], 4);
    await fails(/has no bucket "travel"/, ['backup', 'info', ...travel], 4);
    await fails(/has no complete backup "x"; it has 2/, ['restore', `${folder}-2`, '--backup', 'x']);
    const lock = lockFolder(`${folder}-2`);
    await fails(new RegExp(`process ${process.pid} writes there`), ['backup', `${folder}-2`]);
    lock.release();
  });

  it('refuse archives that were damaged, cut off or mixed, and change nothing on the node', async () => {
    await airlines.upsert('k', { n: 1 });
    await succeeds('backup', folder, '--bucket', 'travel');
    const [name = ''] = backupsIn(folder);
    await succeeds('backup', `${folder}-other`, '--bucket', 'travel');
    const [other = ''] = backupsIn(`${folder}-other`);
    // A restore would bring back the earlier value.
    await airlines.upsert('k', { n: 2 });
    const before = await stateOf(backupNode(node), 'travel');
    const damages: Record<string, [(copy: string) => void, RegExp]> = {
      'a byte changed': [(copy) => flip(join(copy, name, '0.data'), 150), /is damaged/],
      'the file cut off': [
        (copy) => truncateSync(join(copy, name, '0.data'), 100),
        /has 100 bytes; its manifest states/,
      ],
      'bytes behind': [(copy) => appendFileSync(join(copy, name, '0.data'), 'x'), /its manifest states/],
      'the manifest changed': [(copy) => flip(join(copy, name, 'manifest.json'), -20), /manifest.json/],
      'the manifest of another repository': [
        (copy) => {
          rmSync(join(copy, name), { recursive: true });
          cpSync(join(`${folder}-other`, other), join(copy, other), { recursive: true });
        },
        /belongs to another repository/,
      ],
      'data of another backup': [
        (copy) => cpSync(join(`${folder}-other`, other, '0.data'), join(copy, name, '0.data')),
        /is not the data file that its manifest describes|states/,
      ],
      'a folder renamed': [
        (copy) => renameSync(join(copy, name), join(copy, '2020-01-01T00_00_00.000Z')),
        /is the manifest of backup/,
      ],
      'the data missing': [(copy) => rmSync(join(copy, name, '0.data')), /cannot read/],
    };
    for (const [what, [damage, expected]] of Object.entries(damages)) {
      const copy = join(scratch, 'damaged');
      cpSync(folder, copy, { recursive: true });
      damage(copy);
      await fails(expected, ['backup', 'verify', copy]);
      await fails(expected, ['restore', copy, '--force-updates']);
      rmSync(copy, { recursive: true });
      assert.deepEqual(differences(before, await stateOf(backupNode(node), 'travel')), [], what);
    }
  });
});

/** The names of the backups in a repository, from the oldest on. */
function backupsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('Z'))
    .sort();
}

/** Inverts a bit of the byte at the offset, which counts from the end if it is negative. */
function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] = (bytes[index] as number) ^ 1;
  writeFileSync(path, bytes);
}
