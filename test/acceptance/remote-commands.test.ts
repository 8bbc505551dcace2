// `divan bucket`, `collection`, `user`, `doc`, `metrics` and `logs` with a real node: output, JSON and exit status.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand, startCommand } from '../support/command.ts';
import { administrator, eventually, launcher, NodeProcess } from '../support/node-process.ts';
import { commandsOn, nodeEnvironment } from '../support/remote-command.ts';
import { connect } from '../support/sdk.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-commands-'));
let node: NodeProcess;
const run = commandsOn(() => node);

before(async () => {
  node = await NodeProcess.start({ args: ['--bucket', 'b'] });
});
after(async () => {
  await node?.[Symbol.asyncDispose]();
  rmSync(scratch, { recursive: true, force: true });
});

async function done(line: string, ...more: string[]): Promise<string> {
  const { status, out, error } = await run(line, ...more);
  assert.deepEqual([status, error], [0, ''], line);
  return out;
}
const json = async (line: string, ...more: string[]) => JSON.parse(await done(`${line} --json`, ...more));

async function failed(expected: number, message: RegExp, line: string, ...more: string[]): Promise<void> {
  const { status, out, error } = await run(line, ...more);
  assert.deepEqual([status, out], [expected, ''], `${line}: ${error}`);
  assert.match(error, message);
  assert.doesNotMatch(error, /\n {4}at /);
}

describe('divan bucket', () => {
  it('creates a bucket that can be written to at once, lists, changes, compacts, flushes and deletes it', async () => {
    const shown = await json('bucket create made --quota 128 --flush on');
    assert.deepEqual([shown.name, shown.type, shown.quotaBytes], ['made', 'couchbase', 128 << 20]);
    await done('doc set made k {"a":1}');
    await eventually(async () => {
      const found = (await json('bucket list')).find(({ name }: { name: string }) => name === 'made');
      assert.equal(found.documents, 1);
    });
    assert.match(await done('bucket list'), /^bucket +type .*\n(.*\n)*made +couchbase +1 /);
    assert.equal((await json('bucket edit made --quota 150')).quotaBytes, 150 << 20);
    assert.match(await done('bucket compact made'), /^bucket "made" is compacted: /);
    await done('bucket flush made');
    await failed(4, /has no document "k"/, 'doc get made k');
    await done('bucket delete made');
    await failed(4, /404/, 'bucket flush made');
  });

  it('refuses with the reason of the node, or with what is wrong in the command line', async () => {
    await failed(1, /name.*already exists/i, 'bucket create b');
    await failed(1, /ramQuotaMB/, 'bucket create small --quota 1');
    await failed(2, /NAME is missing; the form is divan bucket create NAME/, 'bucket create');
    await failed(
      2,
      /there is no "divan bucket creat"; did you mean "divan bucket create"\?/,
      'bucket creat x',
    );
    await failed(2, /"y" is one word too many/, 'bucket delete x y');
    await failed(
      2,
      /--type: "other" is not one of couchbase, ephemeral, memcached/,
      'bucket create x --type other',
    );
    await failed(1, /nothing to change/, 'bucket edit b');
  });
});

describe('divan collection', () => {
  it('creates a collection with its scope, which can be written to at once, lists and drops them', async () => {
    await done('collection create b inventory.airline --max-ttl 60');
    await done('doc set b a {} --scope inventory --collection airline');
    const scopes = await json('collection list b');
    assert.deepEqual(scopes.find(({ scope }: { scope: string }) => scope === 'inventory').collections, [
      { name: 'airline', maxTTL: 60 },
    ]);
    await done('collection edit b inventory.airline --max-ttl 0');
    await done('collection create b empty');
    assert.match(await done('collection list b'), /^scope +collection +longest expiry\n(.*\n)*empty\n/);
    await done('collection delete b inventory.airline');
    await failed(
      4,
      /has no collection "inventory\.airline"; create it with divan collection create/,
      'doc get b a --scope inventory --collection airline',
    );
    await done('collection delete b inventory');
    await failed(2, /"a\.b\.c" should be a scope, or scope\.collection/, 'collection create b a.b.c');
  });
});

describe('divan user', () => {
  it('creates a user who can log in, changes only what is given, and deletes it', async () => {
    const file = join(scratch, 'new-password');
    writeFileSync(file, 'first-password\n');
    await done(
      `user create reader --roles data_reader[b] --roles query_select[b] --name`,
      'A Reader',
      '--new-password-file',
      file,
    );
    const login = (password: string) =>
      connect(`couchbase://${node.ready.node.kv}`, { username: 'reader', password }).then((cluster) =>
        cluster.close(),
      );
    await login('first-password');
    const [user] = (await json('user list')).filter(({ id }: { id: string }) => id === 'reader');
    assert.deepEqual([user.name, user.roles.toSorted()], ['A Reader', ['data_reader[b]', 'query_select[b]']]);
    const changed = await json('user edit reader --roles data_writer[b]');
    assert.deepEqual([changed.name, changed.roles], ['A Reader', ['data_writer[b]']]);
    await login('first-password');
    await failed(
      1,
      /exists; change it with divan user edit reader\n/,
      'user create reader --new-password other-password',
    );
    await done('user create jane --domain external');
    const ofJane = /user "jane" exists; change it with divan user edit jane --domain external\n/;
    await failed(1, ofJane, 'user create jane --domain external');
    await done('user delete reader');
    await failed(4, /404/, 'user edit reader --name x');
    await failed(2, /password of the user is missing/, 'user create another');
  });
});

describe('divan doc', () => {
  it('stores, reads, guards by CAS, inserts and deletes', async () => {
    const { cas } = await json('doc set b k {"n":9007199254740993}');
    assert.equal(await done('doc get b k'), '{"n":9007199254740993}\n');
    assert.match(await done('doc get b k --json'), /"value":\{"n":9007199254740993\}/);
    assert.match(await done('doc list b --prefix k --values --json'), /"n":9007199254740993/);
    assert.equal((await json('doc get b k')).cas, cas);
    await failed(1, /document "k" already exists/, 'doc insert b k {}');
    await failed(1, /has another CAS/, 'doc set b k {} --cas 1');
    await done(`doc set b k {"n":2} --cas ${cas}`);
    await failed(4, /has no document "none"/, 'doc get b none');
    await failed(4, /has no document "none"/, 'doc delete b none');
    await done('doc delete b k');
    await failed(4, /has no document "k"/, 'doc get b k');
  });

  it('takes values from files and gives bytes that are no JSON in base64', async () => {
    const file = join(scratch, 'value');
    writeFileSync(file, Buffer.from([0xff, 0x00]));
    await done(`doc set b bytes --file ${file} --expiry 1h`);
    assert.equal((await json('doc get b bytes')).base64, '/wA=');
    const invalidText = Buffer.from('{"a":"\xff"}', 'latin1');
    writeFileSync(file, invalidText);
    await done(`doc set b bytes --file ${file}`);
    const { base64, flags } = await json('doc get b bytes');
    assert.deepEqual([base64, flags], [invalidText.toString('base64'), 0x03000000]);
    await failed(2, /VALUE is missing: give it, or --file/, 'doc set b k');
    await failed(2, /--file: cannot read .*absent/, `doc set b k --file ${scratch}/absent`);
  });

  it('lists keys in pages', async () => {
    await Promise.all([1, 2, 3, 4].map((n) => done(`doc set b page:${n} {"n":${n}}`)));
    await done('doc set b pagf {}');
    assert.equal(await done('doc list b --prefix page: --limit 2'), 'page:1\npage:2\n');
    assert.equal(await done('doc list b --prefix page: --limit 2 --after page:2'), 'page:3\npage:4\n');
    assert.deepEqual(await json('doc list b --prefix page: --after page:3 --values'), [
      { key: 'page:4', value: { n: 4 } },
    ]);
    assert.deepEqual(await json('doc list b --prefix none'), []);
    assert.match(await done('doc list b'), /^page:1\npage:2\npage:3\npage:4\npagf$/m);
  });

  it('lists all keys with a prefix that comes after --after in the order of bytes, though not of UTF-16', async () => {
    await Promise.all(['～1', '～2', '😀1'].map((key) => done(`doc set b ${key} {}`)));
    assert.equal(await done('doc list b --prefix 😀 --limit 1 --after ～'), '😀1\n');
  });
});

describe('divan metrics and divan logs', () => {
  it('prints current samples and values over time', async () => {
    const samples = await json('metrics kv_curr_items --bucket b');
    assert.equal(samples[0].labels.bucket, 'b');
    assert.match(await done('metrics kv_curr_items'), /^kv_curr_items +.*bucket=b/m);
    await eventually(async () => {
      const [series] = await json('metrics kv_curr_items --since 5m --step 1 --functions sum');
      assert.ok(series.values.length > 0);
    });
    await failed(4, /no metric whose name begins with "none"/, 'metrics none');
  });

  it('prints log entries, and goes on with new ones until it is stopped', async () => {
    const list = await json('logs --lines 5');
    assert.ok(list.length > 0 && list.length <= 5);
    const { child, ended } = startCommand(['logs', '--follow', '--json'], nodeEnvironment(node));
    let out = '';
    child.stdout?.on('data', (chunk: Buffer) => (out += chunk));
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    await done('bucket create logged');
    await eventually(() => assert.match(out, /logged/));
    child.kill('SIGINT');
    const lines = (await ended).out.trim().split('\n');
    assert.equal(new Set(lines).size, lines.length);
    assert.equal((await ended).status, 130);
  });
});

describe('the connection of commands', () => {
  it('takes the password from standard input', () => {
    const env = { ...process.env, DIVAN_URL: node.ready.node.rest, DIVAN_PASSWORD: '' };
    for (const [input, expected, message] of [
      [`${administrator.password}\n`, 0, /^$/],
      ['wrong\n', 1, /refuses the user "Administrator" with this password/],
      ['', 2, /--password-file: the first line of standard input is empty/],
    ] as const) {
      const command = [launcher, 'bucket', 'list', '--password-file', '-'];
      const { status, stderr } = spawnSync(process.execPath, command, { input, env, encoding: 'utf8' });
      assert.equal(status, expected, stderr);
      assert.match(stderr, message);
    }
  });

  it('takes the password from a file, and says what is missing or wrong', async () => {
    const file = join(scratch, 'password');
    writeFileSync(file, `${administrator.password}\nignored\n`);
    const without = { DIVAN_URL: node.ready.node.rest, DIVAN_PASSWORD: '' };
    const listed = await runCommand(['bucket', 'list', '--password-file', file], without);
    assert.deepEqual([listed.status, listed.error], [0, '']);
    for (const [args, message, expected] of [
      [[], /the password is missing: set DIVAN_PASSWORD, or give --password-file/, 2],
      [['--password-file', join(scratch, 'absent')], /--password-file: cannot read/, 2],
      [['--password-file', file, '--password', 'x'], /give one of them/, 2],
      [['--password', 'wrong'], /refuses the user "Administrator" with this password/, 1],
      [
        ['--password', 'x', '--url', 'http://127.0.0.1:1'],
        /--url: cannot reach http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/,
        1,
      ],
      [['--password', 'x', '--url', 'https://127.0.0.1:1'], /cannot reach https:.*ECONNREFUSED/, 1],
    ] as const) {
      const { status, error } = await runCommand(['bucket', 'list', ...args], without);
      assert.equal(status, expected, error);
      assert.match(error, message);
    }
  });

  it('shows the verbs of a command and the options of a verb', async () => {
    assert.match(await done('bucket --help'), /divan bucket create NAME .*waits until it is usable/);
    assert.match(
      await done('doc insert --help'),
      /divan doc insert BUCKET KEY \[VALUE\]: .*[\s\S]*--durability/,
    );
    await failed(2, /a verb is missing; the verbs are list, create/, 'bucket');
  });
});
