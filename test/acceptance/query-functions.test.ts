// User-defined SQL++ functions: over the query port, after a restart, with roles and scopes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administrator, NodeProcess } from '../support/node-process.ts';

interface Answer {
  results?: unknown[];
  errors?: { code: number; msg: string }[];
}

const args = ['--bucket', 'b', '--services', 'kv,n1ql'];

function querying(node: NodeProcess) {
  const ask = async (
    statement: string,
    fields: Record<string, string> = {},
    { username, password } = administrator,
  ): Promise<Answer> => {
    const response = await fetch(`${node.ready.node.query}/query/service`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
      body: new URLSearchParams({ statement, ...fields }),
    });
    return (await response.json()) as Answer;
  };
  const rows = async (statement: string, fields = {}): Promise<unknown[] | undefined> => {
    const { results, errors } = await ask(statement, fields);
    assert.equal(errors, undefined, `${statement}: ${errors?.[0]?.msg}`);
    return results;
  };
  const code = async (...parameters: Parameters<typeof ask>) => (await ask(...parameters)).errors?.[0]?.code;
  return { ask, rows, code };
}

test('arguments of EXECUTE FUNCTION are expressions and parameters', async () => {
  await using node = await NodeProcess.start({ args });
  const { ask, rows, code } = querying(node);
  await rows('CREATE FUNCTION twice(a) { a * 2 }');
  await rows('CREATE FUNCTION joined(...) { CONCAT2("-", args) }');
  await rows('INSERT INTO b VALUES ("k", {"n": 4})');
  assert.deepEqual(await rows('EXECUTE FUNCTION twice($n)', { $n: '3' }), [6]);
  assert.deepEqual(await rows('EXECUTE FUNCTION twice(?)', { args: '[4]' }), [8]);
  assert.deepEqual(await rows('EXECUTE FUNCTION twice(twice(-1 + 2))'), [4]);
  assert.deepEqual(await rows('EXECUTE FUNCTION joined(LOWER("A"), "b\\n")'), ['a-b\n']);
  assert.deepEqual(await rows('EXECUTE FUNCTION twice((SELECT RAW t.n FROM b AS t USE KEYS "k")[0])'), [8]);
  await rows('PREPARE q AS EXECUTE FUNCTION twice($1)');
  assert.deepEqual(await rows('EXECUTE q', { args: '[5]' }), [10]);
  assert.equal(await code('EXECUTE FUNCTION twice(other)'), 3080);
  assert.equal(await code('EXECUTE FUNCTION nothing(1)'), 10101);
  await rows('CREATE FUNCTION half(a) { CASE WHEN IS_NUMBER(a) THEN a / 2 ELSE ABORT("no number.") END }');
  const { errors } = await ask('EXECUTE FUNCTION half("x")');
  const msg = "Error executing function 'half'  - cause: no number.";
  assert.deepEqual(errors, [{ code: 10109, msg }]);
});

test('a function is called with its arguments, replaced, listed and dropped', async () => {
  await using node = await NodeProcess.start({ args });
  const { rows, code } = querying(node);
  await rows('CREATE FUNCTION twice(a) { a * 2 }');
  await rows('CREATE FUNCTION most(...) { ARRAY_MAX(args) }');
  assert.deepEqual(await rows('SELECT RAW twice(4) + most(1, 3, 2)'), [11]);
  assert.deepEqual(await rows('EXECUTE FUNCTION twice(21)'), [42]);
  assert.equal(await code('SELECT twice(1, 2)'), 10104);
  assert.equal(await code('CREATE FUNCTION twice(a) { a }'), 10102);
  await rows('CREATE FUNCTION twice(a) IF NOT EXISTS { a }');
  assert.deepEqual(await rows('SELECT RAW twice(4)'), [8]);
  await rows('PREPARE p AS SELECT RAW twice(5)');
  assert.deepEqual(await rows('EXECUTE p'), [10]);
  await rows('CREATE OR REPLACE FUNCTION twice(a) { a || a }');
  assert.deepEqual(await rows('SELECT RAW twice("x")'), ['xx']);
  assert.deepEqual(await rows('EXECUTE p'), [null]);
  const listed = 'SELECT RAW identity.name FROM system:functions ORDER BY identity.name';
  assert.deepEqual(await rows(listed), ['most', 'twice']);
  await rows('INSERT INTO b VALUES ("k", {"n": 4})');
  await rows('CREATE FUNCTION nOf(k) { (SELECT RAW t.n FROM b AS t USE KEYS k)[0] }');
  assert.deepEqual(await rows('SELECT RAW nOf("k")'), [4]);
  await rows('DROP FUNCTION most');
  assert.equal(await code('DROP FUNCTION most'), 10101);
  await rows('DROP FUNCTION most IF EXISTS');
  assert.equal(await code('SELECT most(1)'), 3000);
  assert.equal(await code('CREATE FUNCTION loop(a) { loop(a) }'), undefined);
  assert.equal(await code('SELECT loop(1)'), 10109);
});

test('functions survive a kill; dropping a scope drops its functions', async () => {
  await using first = await NodeProcess.start({ args });
  const before = querying(first);
  const inScope = { query_context: 'default:b.s' };
  await before.rows('CREATE SCOPE b.s');
  await before.rows('CREATE FUNCTION one() { 1 }');
  await before.rows('CREATE FUNCTION one() { 11 }', inScope);
  assert.deepEqual(await before.rows('SELECT RAW one()'), [1]);
  assert.deepEqual(await before.rows('SELECT RAW one()', inScope), [11]);
  assert.deepEqual(await before.rows('SELECT RAW default:b.s.one()'), [11]);
  assert.deepEqual(await before.rows('SELECT RAW [one(), default:one()]', inScope), [[11, 1]]);
  assert.deepEqual(await before.rows('EXECUTE FUNCTION default:one()', inScope), [1]);
  await first.stop('SIGKILL');
  await using second = await NodeProcess.start({ dataDir: first.dataDir, args });
  const after = querying(second);
  assert.deepEqual(await after.rows('SELECT RAW [one(), default:b.s.one()]'), [[1, 11]]);
  await after.rows('DROP SCOPE b.s');
  assert.equal(await after.code('SELECT default:b.s.one()'), 3000);
  await after.rows('CREATE SCOPE b.s');
  assert.deepEqual(await after.rows('SELECT RAW one()', inScope), [1]);
});

test('defining and running a function require their roles, and a function grants no others', async () => {
  await using node = await NodeProcess.start({ args });
  const { rows, code } = querying(node);
  await rows('INSERT INTO b VALUES ("k", {"n": 4})');
  await rows('CREATE FUNCTION all_n() { (SELECT RAW t.n FROM b AS t) }');
  const caller = { username: 'caller', password: 'password' };
  const withRoles = async (roles: string): Promise<void> => {
    const form = { password: caller.password, roles };
    assert.equal((await node.request('/settings/rbac/users/local/caller', 'PUT', form)).status, 200);
  };
  await withRoles('query_select[b]');
  assert.equal(await code('SELECT all_n()', {}, caller), 13014);
  assert.equal(await code('CREATE FUNCTION mine() { 1 }', {}, caller), 13014);
  await withRoles('query_execute_global_functions');
  assert.equal(await code('SELECT all_n()', {}, caller), 13014);
  await withRoles('query_execute_global_functions,query_select[b]');
  assert.equal(await code('SELECT all_n()', {}, caller), undefined);
  assert.equal(await code('EXECUTE FUNCTION all_n()', {}, caller), undefined);
  assert.equal(await code('DROP FUNCTION all_n', {}, caller), 13014);
  await withRoles('query_manage_functions[b:_default]');
  const inScope = { query_context: 'default:b._default' };
  assert.equal(await code('CREATE FUNCTION mine() { 1 }', inScope, caller), undefined);
  assert.equal(await code('CREATE FUNCTION mine() { 1 }', {}, caller), 13014);
  assert.equal(await code('CREATE FUNCTION default:mine() { 1 }', inScope, caller), 13014);
});
