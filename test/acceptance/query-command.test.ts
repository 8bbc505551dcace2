// `divan query` with a real node: output, exit status and errors.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { administrator, launcher, NodeProcess } from '../support/node-process.ts';

describe('divan query', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-query-'));
  let node: NodeProcess;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  async function run(args: string[], input = '', password = administrator.password) {
    const child = spawn(process.execPath, [launcher, 'query', ...args], {
      env: { ...process.env, DIVAN_URL: node.ready.node.query, DIVAN_PASSWORD: password },
    });
    const printed = { out: '', error: '' };
    child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk));
    child.stderr.on('data', (chunk: Buffer) => (printed.error += chunk));
    child.stdin.on('error', () => {}); // the process may end before it has read everything
    child.stdin.end(input);
    const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
    return { status, ...printed };
  }

  it('prints a table with a column for each field, and no control characters', async () => {
    const { status, out, error } = await run([
      'SELECT r.* FROM [{"a": 1, "long": "x;\\u001by"}, {"a": {"b": null}}] AS r',
    ]);
    assert.deepEqual([status, error], [0, '']);
    assert.equal(
      out,
      [
        'a           long',
        '----------  ---------',
        '1           x;\\u{1b}y',
        '{"b":null}',
        '(2 rows)',
        '',
      ].join('\n'),
    );
    assert.match((await run(['SELECT RAW 5'])).out, /^value\n-----\n5\n\(1 row\)\n$/);
  });

  it('takes the address of the REST API too, and finds the query service there', async () => {
    const { status, out, error } = await run([
      'SELECT RAW 5; SELECT RAW 6',
      '--json',
      '--url',
      node.ready.node.rest,
    ]);
    assert.deepEqual([status, out, error], [0, '5\n6\n', '']);
    const elsewhere = await run(['SELECT 1', '--url', node.ready.node.capi]);
    assert.equal(elsewhere.status, 1);
    assert.match(elsewhere.error, /^divan: http:\/\/127\.0\.0\.1:\d+ answered 40\d/);
    const refused = await run(['SELECT 1', '--url', node.ready.node.rest], '', 'wrong password');
    assert.equal(refused.status, 1);
    assert.doesNotMatch(refused.error, /wrong password|\n {4}at /);
  });

  it('prints a line of JSON for each row with --json, whole numbers exactly', async () => {
    const { out } = await run(['--json', 'SELECT 9223372036854775807 AS n UNION ALL SELECT 1.5 AS n']);
    assert.deepEqual(out.trim().split('\n').sort(), ['{"n":1.5}', '{"n":9223372036854775807}']);
  });

  it('runs the statements of a file in order and stops at the first error', async () => {
    const file = join(scratch, 'statements.sql');
    writeFileSync(
      file,
      `-- a comment; with a sign
       INSERT INTO b (KEY, VALUE) VALUES ("k;1", {"text": "one;\ntwo"}); ;
       SELECT RAW META(d).id FROM b AS d /* ; */ WHERE d.text LIKE "one%";
       SELEC 1; SELECT "never"`,
    );
    const { status, out, error } = await run(['--file', file]);
    assert.equal(status, 1);
    assert.equal(out, '(1 changed)\nvalue\n-----\nk;1\n(1 row)\n');
    assert.match(error, /^divan: 3000: .*SELEC/);
    assert.doesNotMatch(error, /\n {4}at /);
  });

  it('shows plans with --explain and runs nothing', async () => {
    const { out } = await run(['DELETE FROM b', '--explain', '--json']);
    assert.match(out, /"#operator"/);
    assert.match((await run(['SELECT RAW COUNT(*) FROM b', '--json'])).out, /^1\n$/);
  });

  it('reads statements of several lines, \\timing and \\quit from standard input', async () => {
    const input = '\\timing\nSELECT\n  RAW 1; SELECT RAW "\n\\\\quit";\n\\quit\nSELECT RAW 3;\n';
    const { status, out, error } = await run(['--json'], input);
    assert.equal(status, 0, error);
    assert.deepEqual(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      [1, '\n\\quit'],
    );
    assert.match(error, /^timing is on\ntime: .*s\ntime: .*s\n$/);
    assert.equal((await run(['--json'], 'SELECT RAW 4')).out, '4\n');
  });

  it('reports an error in one line, without a stack trace', async () => {
    const wrong = await run(['SELECT 1'], '', 'wrong password');
    assert.equal(wrong.status, 1);
    assert.match(wrong.error, /^divan: /);
    assert.doesNotMatch(wrong.error, /wrong password|\n {4}at /);
    const absent = await run(['SELECT 1', '--url', 'http://127.0.0.1:1']);
    assert.deepEqual([absent.status, absent.out], [1, '']);
    assert.match(absent.error, /^divan: --url: cannot reach http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/);
    for (const [args, message] of [
      [['SELECT 1', 'SELECT 2'], /more than one statement/],
      [['SELECT 1', '--file', 'x'], /give one of them/],
      [['--file', join(scratch, 'none')], /--file: cannot read .*none/],
      [['--jsn'], /did you mean --json/],
    ] as const) {
      const { status, error } = await run([...args]);
      assert.equal(status, 2, error);
      assert.match(error, message);
    }
  });
});
