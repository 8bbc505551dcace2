// divan/testing: nodes of tests start with what the options request, are independent, and end with the process that started them, however
// it ends.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startNode } from '../../src/testing/testing.ts';
import type { StartNodeOptions, TestNode } from '../../src/testing/types.ts';
import { eventually } from '../support/node-process.ts';

const entry = new URL('../../bin/testing.js', import.meta.url).href;
/** The nodes' folders are in it, so that their processes can be distinguished from those of other tests. */
const scratch = mkdtempSync(join(tmpdir(), 'divan-library-'));
process.env['TMPDIR'] = scratch;
after(() => rmSync(scratch, { recursive: true, force: true }));

async function get(node: TestNode, path: string): Promise<unknown> {
  const credentials = Buffer.from(`${node.username}:${node.password}`).toString('base64');
  const answer = await fetch(`${node.addresses.rest}${path}`, {
    headers: { authorization: `Basic ${credentials}` },
  });
  assert.equal(answer.status, 200, path);
  return await answer.json();
}

const namesOf = (list: unknown): string[] => (list as { name: string }[]).map(({ name }) => name).sort();

/** The process ids of nodes of this file. */
const nodePids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandOf(pid).includes(`${scratch}/`))
    .map(Number);

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it ended meanwhile
  }
}

const assertNothingLeft = (): void => {
  assert.deepEqual(nodePids(), []);
  assert.deepEqual(readdirSync(scratch), []);
};

test('a node has the buckets, collections, documents, users and indexes of its options', async () => {
  const airline = {
    key: 'airline_10',
    value: { name: '40-Mile Air' },
    scope: 'inventory',
    collection: 'airline',
  };
  await using node = await startNode({
    buckets: [
      'empty',
      { name: 'travel', scopes: [{ name: 'inventory', collections: ['airline'] }], documents: [airline] },
    ],
    users: [{ name: 'app', password: 'app-password', roles: ['data_reader[travel]'] }],
    statements: ['CREATE INDEX by_name ON travel.inventory.airline(name)'],
  });
  assert.deepEqual(namesOf(await get(node, '/pools/default/buckets')), ['empty', 'travel']);
  const path = '/pools/default/buckets/travel/scopes/inventory/collections/airline/docs/airline_10';
  const { json } = (await get(node, path)) as { json: string };
  assert.deepEqual(JSON.parse(json), airline.value);
  assert.deepEqual(
    ((await get(node, '/settings/rbac/users')) as { id: string }[]).map(({ id }) => id),
    ['app'],
  );
  const { indexes } = (await get(node, '/indexStatus')) as { indexes: { index: string; status: string }[] };
  assert.deepEqual(
    indexes.map(({ index, status }) => [index, status]),
    [['by_name', 'Ready']],
  );
  assert.match(node.connectionString, /^couchbase:\/\/127\.0\.0\.1:\d+$/);
});

test('two nodes run at once, without anything in common; a stopped one leaves nothing', async () => {
  const [first, second] = await Promise.all([startNode({ buckets: ['a'] }), startNode({ buckets: ['b'] })]);
  assert.deepEqual(namesOf(await get(first, '/pools/default/buckets')), ['a']);
  await first.stop();
  await first.stop();
  assert.deepEqual(nodePids(), [second.pid]);
  assert.deepEqual(namesOf(await get(second, '/pools/default/buckets')), ['b']);
  await second.stop();
  assertNothingLeft();
});

/** A process that starts a node, prints its process id and runs `lastStep`. */
function starter(lastStep: string): ChildProcess {
  const code = `const { startNode } = await import('${entry}'); const node = await startNode({ buckets: ['a'] }); console.log(node.pid); ${lastStep}`;
  return spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

const printedBy = async (child: ChildProcess): Promise<number> =>
  Number(String((await once(child.stdout as NonNullable<typeof child.stdout>, 'data'))[0]));

test('the node ends, and its folder is deleted, when the process of the tests is killed', async () => {
  const child = starter('setInterval(() => {}, 1000);');
  const pid = await printedBy(child);
  assert.ok(existsSync(`/proc/${pid}`));
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  await eventually(assertNothingLeft);
});

test('a process that is killed while the node starts leaves nothing either', async () => {
  const code = `const { startNode } = await import('${entry}'); startNode(); process.stdout.write('starting');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await eventually(assertNothingLeft);
});

for (const [title, lastStep] of [
  ['a node that is not stopped does not keep its process from ending', ''],
  ['the node ends with a process that calls exit', 'process.exit(0);'],
])
  test(`${title}, and ends with it`, async () => {
    const child = starter(lastStep as string);
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
    await eventually(assertNothingLeft);
  });

const refused: readonly [unknown, RegExp][] = [
  [{ bukets: [] }, /unknown option bukets; did you mean buckets\?/],
  [{ ports: { rst: 1 } }, /unknown option ports\.rst; did you mean ports\.rest\?/],
  [{ ports: { rest: 70_000 } }, /ports\.rest: must be a port from 0 to 65535, not 70000/],
  [{ buckets: 'travel' }, /buckets: must be an array, not "travel"/],
  [{ buckets: ['a b'] }, /buckets\.0\.name: "a b": Bucket name can only contain/],
  [{ buckets: [{ name: 'a', ramQuotaMB: 50 }] }, /buckets\.0\.ramQuotaMB: "50": .*100 MB/],
  [{ buckets: [{ name: 'a', colour: 1 }] }, /buckets\.0: Unrecognized key: "colour"/],
  [{ users: [{ name: 'u', password: 'password', roles: ['nope'] }] }, /users\.0\.roles\.0: "nope"/],
  [{ statements: ['SELEC 1'] }, /statements\.0: 3000: syntax error/],
  [{ password: 'x' }, /startNode: password: needs at least 6 characters/],
  [{ memoryQuotaMB: 10 }, /memoryQuotaMB: needs at least 256 MB/],
  [{ services: ['fts'] }, /services: this version does not have the service "fts"/],
  [{ startMs: 1 }, /startMs: the node was not ready in 1 ms/],
];

test('the refusal of a wrong option names it, and no process is left', async () => {
  for (const [options, expected] of refused)
    await assert.rejects(startNode(options as StartNodeOptions), expected);
  assertNothingLeft();
});

test('the refusal of an occupied port names it', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  for (const name of ['rest', 'kv', 'queryTls'])
    await assert.rejects(
      startNode({ ports: { [name]: port } }),
      new RegExp(`ports\\.${name}: cannot listen on 127\\.0\\.0\\.1:${port}: the port is in use`),
    );
  assertNothingLeft();
});
