// The command line of a node.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { vbucketOf } from '#client/document-key.ts';
import { realRandom } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { DataFolder } from '../../src/main/data-folder.ts';
import { dataClient, get } from '../support/data-client.ts';
import { administrator, launcher, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-start-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const run = (...args: string[]) =>
  spawnSync(process.execPath, [launcher, ...args], { encoding: 'utf8', timeout: 120_000 });
const portNames = ['rest', 'kv', 'capi', 'dist', 'query', 'index'].flatMap((name) => [name, `${name}-tls`]);
const portsExcept = (given: string) =>
  portNames.filter((name) => name !== given).flatMap((name) => [`--${name}-port`, '0']);

test('divan prints help, and names wrong options with the right form', () => {
  assert.match(run('--help').stdout, /divan up[\s\S]*divan node/);
  assert.match(run('node', '--help').stdout, /--rest-port PORT/);
  const wrong = run('node', '--rest-prot', '1');
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /unknown option --rest-prot; did you mean --rest-port\?/);
  assert.match(run('node', '--kv-port', 'x').stderr, /--kv-port: "x" is not a port/);
  assert.match(
    run('node', '--services', 'kv,fts').stderr,
    /does not have the service "fts"; it has kv, index/,
  );
  assert.match(
    run('node', '--data-dir', '/proc/none/here').stderr,
    /--data-dir: cannot use \/proc\/none\/here/,
  );
  assert.match(run('nod').stderr, /unknown command "nod"; did you mean "node"\?/);
  assert.match(run('node', '--username', 'a').stderr, /--username and --password/);
  assert.match(run('node', '--bucket', 'b').stderr, /--bucket and --init need --username and --password/);
});

test('a start names the port that is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  // One for each way in which a port is opened; src/main/port-of-error.test.ts has the other ports of threads.
  for (const name of ['rest', 'capi-tls', 'dist', 'dist-tls', 'kv-tls', 'query']) {
    const dataDir = join(scratch, `used-${name}`);
    const where = ['--data-dir', dataDir, '--services', 'kv,index,n1ql'];
    const ended = run('node', ...where, `--${name}-port`, String(port), ...portsExcept(name));
    assert.equal(ended.status, 1, name);
    assert.match(ended.stderr, new RegExp(`--${name}-port.*${port}.*in use`), name);
  }
  other.close();
});

test('a start reports an address that this machine does not have', () => {
  const ended = run(
    'node',
    '--data-dir',
    join(scratch, 'elsewhere'),
    '--host',
    '203.0.113.9',
    ...portsExcept(''),
  );
  assert.equal(ended.status, 1);
  assert.match(
    ended.stderr,
    /^divan: --[a-z-]+-port: cannot listen on 203\.0\.113\.9:0: this machine has no such address/m,
  );
  assert.doesNotMatch(ended.stderr, /at .*node\.ts/);
});

test('a first start names its problem in one line', () => {
  const init = join(scratch, 'small.json');
  writeFileSync(init, JSON.stringify({ buckets: [{ name: 'a', ramQuotaMB: 50 }] }));
  const credentials = ['--username', 'Administrator', '--password', 'password'];
  const ended = run(
    'node',
    '--data-dir',
    join(scratch, 'small'),
    '--init',
    init,
    ...credentials,
    ...portsExcept(''),
  );
  assert.equal(ended.status, 2);
  assert.match(
    ended.stderr,
    /^divan: --init: .*small\.json: buckets\.0\.ramQuotaMB: "50": RAM quota cannot be less than 100 MB$/m,
  );
});

test('a node refuses a second process on its data folder, and keeps its secrets from other users of the machine', async () => {
  const password = 'planted-secret-4711';
  await using node = await NodeProcess.start({ password, args: ['--log-level', 'debug'] });
  const second = run('node', '--data-dir', node.dataDir, ...portsExcept(''));
  assert.equal(second.status, 1);
  assert.match(second.stderr, /data folder .* is in use/);
  assert.equal(statSync(node.dataDir).mode & 0o077, 0);
  assert.ok(!node.output.includes(password), 'the password was printed');
  const files = readdirSync(node.dataDir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  assert.ok(files.length > 3);
  for (const { parentPath, name } of files) {
    assert.ok(
      !readFileSync(join(parentPath, name), 'latin1').includes(password),
      `${name} holds the password`,
    );
  }
});

test('a node creates the users, buckets, collections and documents of an init file once', async () => {
  const init = join(scratch, 'init.json');
  const plan = {
    users: [{ name: 'app', password: 'app-password', roles: ['data_writer[*]', 'data_reader[*]'] }],
    buckets: [
      {
        name: 'travel',
        parameters: { flushEnabled: 1 },
        scopes: [{ name: 's', collections: ['c', { name: 'brief', maxTTL: 60 }] }],
        documents: [
          { key: 'a', value: { from: 'init' } },
          { key: 'b', value: [1], scope: 's', collection: 'c' },
        ],
      },
    ],
  };
  writeFileSync(init, JSON.stringify(plan));
  const dataDir = join(scratch, 'initialised');
  const args = ['--init', init, '--bucket', 'quick:ephemeral:128'];
  for (const writtenBy of ['init', 'client']) {
    await using node = await NodeProcess.start({ dataDir, args });
    const cluster = await connect(`couchbase://${node.ready.node.kv}`, {
      username: 'app',
      password: 'app-password',
    });
    try {
      const bucket = cluster.bucket('travel');
      assert.deepEqual((await bucket.scope('s').collection('c').get('b')).content, [1]);
      const { content } = await bucket.defaultCollection().get('a');
      assert.deepEqual(content, { from: writtenBy });
      await bucket.defaultCollection().upsert('a', { from: 'client' });
      await cluster.bucket('quick').defaultCollection().upsert('a', {});
    } finally {
      await cluster.close();
    }
    assert.equal(await node.stop(), 0);
  }
});

test('a node has persisted the documents of an init file when it reports ready', async () => {
  const documents = Array.from({ length: 50 }, (_, i) => ({ key: `d${i}`, value: i }));
  const init = join(scratch, 'killed.json');
  writeFileSync(init, JSON.stringify({ buckets: [{ name: 'b', documents }] }));
  const settings = { dataDir: join(scratch, 'killed'), args: ['--init', init] };
  await using killed = await NodeProcess.start(settings);
  await killed.stop('SIGKILL');
  await using node = await NodeProcess.start(settings);
  const client = await dataClient(node);
  const found = [];
  for (const { key } of documents) found.push((await client.ask(get(key, { vb: vbucketOf(key) }))).status);
  client.close();
  assert.deepEqual(new Set(found), new Set([Status.success]));
});

test('an interrupted first start resumes only with its credentials', async () => {
  const dataDir = join(scratch, 'begun');
  {
    await using node = await NodeProcess.start({ dataDir });
    await node.stop('SIGKILL');
  }
  writeFileSync(join(dataDir, 'first-start.pending'), '');
  await assert.rejects(
    NodeProcess.start({ dataDir, password: 'another-password', args: ['--bucket', 'b'] }),
    /divan: first start: it began with another --username or --password/,
  );
  await using node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
  assert.equal((await node.request('/pools/default/buckets/b')).status, 200);
});

test('a first start with a given password keeps no generated password of an interrupted one', async () => {
  const dataDir = join(scratch, 'given');
  // A first start with a generated password that was interrupted before the node had it.
  const folder = DataFolder.open(dataDir, realRandom);
  folder.beginFirstStart();
  folder.keepGeneratedAdministrator({ username: 'Administrator', password: 'generated' });
  {
    await using node = await NodeProcess.start({ dataDir });
    await node.stop('SIGKILL');
  }
  folder.beginFirstStart();
  await assertContinuable(dataDir);
  // This one would generate a password.
  const up = run('up', '--no-cloud', '--data-dir', dataDir, ...portsExcept(''));
  assert.equal(up.status, 1);
  assert.match(up.stderr, /divan: first start: it began with another --username or --password/);
  await assertContinuable(dataDir);
});

/** A node without the options of its first start can be started, as the error of one with other options says. */
async function assertContinuable(dataDir: string): Promise<void> {
  await using node = await NodeProcess.start({ dataDir, unprovisioned: true });
  assert.equal((await node.request('/pools/default/buckets')).status, 200);
}

test('a node stops cleanly on SIGTERM and SIGINT, keeps its documents, and starts without a default collection', async () => {
  const dataDir = join(scratch, 'restarted');
  const defaultCollection = '/pools/default/buckets/dropped/scopes/_default/collections/_default';
  for (const [earlierStarts, signal] of (['SIGTERM', 'SIGINT', 'SIGTERM'] as const).entries()) {
    await using node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b', '--bucket', 'dropped'] });
    const { status } = await node.request(defaultCollection, 'DELETE');
    assert.equal(status, earlierStarts === 0 ? 200 : 404);
    const cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    const counter = cluster.bucket('b').defaultCollection().binary();
    const { value } = await counter.increment('starts', 1, { initial: 1 });
    await cluster.close();
    assert.equal(await node.stop(signal), 0);
    assert.equal(value, earlierStarts + 1);
  }
});
