// Statements of an init file: their effect once the node is ready, and errors of wrong ones.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { administrator, launcher, NodeProcess, portFlags } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-statements-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const buckets = [
  {
    name: 'travel',
    scopes: [{ name: 's', collections: ['c'] }],
    documents: [{ key: 'd', value: { n: 1 }, scope: 's', collection: 'c' }],
  },
];

function fileWith(name: string, plan: unknown): string {
  const path = join(scratch, `${name}.json`);
  writeFileSync(path, JSON.stringify(plan));
  return path;
}

function start(name: string, statements: unknown, ...more: string[]) {
  const folder = join(scratch, name);
  const { username, password } = administrator;
  const init = fileWith(name, { buckets, statements });
  const flags = ['--data-dir', folder, '--init', init, '--username', username, '--password', password];
  const options = { encoding: 'utf8', timeout: 120_000 } as const;
  const ended = spawnSync(process.execPath, [launcher, 'node', ...flags, ...portFlags, ...more], options);
  return { folder, init, ...ended };
}

const rowsOf = (node: NodeProcess, statement: string): Promise<unknown[]> =>
  new QueryClient(node.ready.node.query as string).rows(statement);

test('the node runs statements in order, after the documents, once, and before the node is ready', async () => {
  const dataDir = join(scratch, 'ordered');
  const statements = [
    'CREATE INDEX by_n ON travel.s.c(n)',
    'UPDATE travel.s.c SET n = n + 1 WHERE n = 1',
    'INSERT INTO travel.s.c (KEY k, VALUE {"n": v * 10}) SELECT META(d).id || "2" AS k, d.n AS v FROM travel.s.c d WHERE d.n = 2;',
  ];
  const args = ['--init', fileWith('ordered', { buckets, statements })];
  // The second start runs no statement again.
  for (let run = 1; run <= 2; run++) {
    await using node = await NodeProcess.start({ dataDir, args });
    const indexes = await rowsOf(node, 'SELECT name, state FROM system:indexes');
    assert.deepEqual(indexes, [{ name: 'by_n', state: 'online' }]);
    assert.deepEqual(await rowsOf(node, 'SELECT RAW n FROM travel.s.c ORDER BY n'), [2, 20]);
    await node.stop();
  }
});

test('the node refuses wrong statements before anything starts, and names their positions in the file', () => {
  const wrong = start('wrong', ['SELECT 1', 'SELEC 1', '']);
  assert.equal(wrong.status, 2, wrong.stderr);
  assert.match(wrong.stderr, /--init: .*wrong\.json: statements\.1: 3000: .*SELEC/);
  assert.match(wrong.stderr, /statements\.2: /);
  assert.doesNotMatch(wrong.stderr, /statements\.0|\n {4}at /);
  const number = start('number', ['SELECT 1', 5]);
  assert.match(number.stderr, /number\.json: statements\.1: .*string/);
  const without = start('without', ['SELECT 1'], '--services', 'kv,index');
  assert.equal(without.status, 2, without.stderr);
  assert.match(without.stderr, /without\.json: statements: --services kv,index lacks n1ql, which runs them/);
  for (const { folder } of [wrong, number, without]) assert.equal(existsSync(folder), false);
});

test('a failed statement ends the start with the text of the service; the next start continues with this statement', async () => {
  const before = ['UPDATE travel.s.c SET n = n + 1', 'CREATE INDEX by_n ON travel.s.c(n)'];
  const { status, stderr, folder } = start('failing', [...before, 'SELECT * FROM nowhere', 'SELECT 1']);
  assert.equal(status, 1, stderr);
  assert.match(stderr, /first start: --init: .*failing\.json: statements\.2: 12003: .*nowhere/);
  assert.doesNotMatch(stderr, /\n {4}at /);
  const args = ['--init', fileWith('corrected', { buckets, statements: [...before, 'SELECT 1'] })];
  await using node = await NodeProcess.start({ dataDir: folder, args });
  assert.deepEqual(await rowsOf(node, 'SELECT RAW n FROM travel.s.c'), [2]);
});
