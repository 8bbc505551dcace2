// User-defined SQL++ functions: over the query port, after a restart, with roles and scopes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeProcess } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';

const args = ['--bucket', 'b', '--services', 'kv,n1ql'];

test('arguments of EXECUTE FUNCTION are expressions and parameters', async () => {
  await using node = await NodeProcess.start({ args });
  const query = new QueryClient(node.ready.node.query as string);
  await query.rows('CREATE FUNCTION twice(a) { a * 2 }');
  await query.rows('CREATE FUNCTION joined(...) { CONCAT2("-", args) }');
  await query.rows('INSERT INTO b VALUES ("k", {"n": 4})');
  assert.deepEqual(await query.rows('EXECUTE FUNCTION twice($n)', { $n: 3 }), [6]);
  assert.deepEqual(await query.rows('EXECUTE FUNCTION twice(?)', { args: [4] }), [8]);
  assert.deepEqual(await query.rows('EXECUTE FUNCTION twice(twice(-1 + 2))'), [4]);
  assert.deepEqual(await query.rows('EXECUTE FUNCTION joined(LOWER("A"), "b\\n")'), ['a-b\n']);
  assert.deepEqual(
    await query.rows('EXECUTE FUNCTION twice((SELECT RAW t.n FROM b AS t USE KEYS "k")[0])'),
    [8],
  );
  await query.rows('PREPARE q AS EXECUTE FUNCTION twice($1)');
  assert.deepEqual(await query.rows('EXECUTE q', { args: [5] }), [10]);
  assert.equal(await query.code('EXECUTE FUNCTION twice(other)'), 3080);
  assert.equal(await query.code('EXECUTE FUNCTION nothing(1)'), 10101);
  await query.rows(
    'CREATE FUNCTION half(a) { CASE WHEN IS_NUMBER(a) THEN a / 2 ELSE ABORT("no number.") END }',
  );
  const { errors } = await query.ask('EXECUTE FUNCTION half("x")');
  const msg = "Error executing function 'half'  - cause: no number.";
  assert.deepEqual(errors, [{ code: 10109, msg }]);
  assert.equal(await query.code('EXECUTE FUNCTION half($missing)'), 5010);
  assert.equal(await query.code('EXECUTE FUNCTION half(ABORT("x"))'), 5011);
});

test('a function is called with its arguments, replaced, listed and dropped', async () => {
  await using node = await NodeProcess.start({ args });
  const query = new QueryClient(node.ready.node.query as string);
  await query.rows('CREATE FUNCTION twice(a) { a * 2 }');
  await query.rows('CREATE FUNCTION most(...) { ARRAY_MAX(args) }');
  assert.deepEqual(await query.rows('SELECT RAW twice(4) + most(1, 3, 2)'), [11]);
  assert.deepEqual(await query.rows('EXECUTE FUNCTION twice(21)'), [42]);
  assert.equal(await query.code('SELECT twice(1, 2)'), 10104);
  assert.equal(await query.code('CREATE FUNCTION twice(a) { a }'), 10102);
  await query.rows('CREATE FUNCTION twice(a) IF NOT EXISTS { a }');
  assert.deepEqual(await query.rows('SELECT RAW twice(4)'), [8]);
  await query.rows('PREPARE p AS SELECT RAW twice(5)');
  assert.deepEqual(await query.rows('EXECUTE p'), [10]);
  await query.rows('CREATE OR REPLACE FUNCTION twice(a) { a || a }');
  assert.deepEqual(await query.rows('SELECT RAW twice("x")'), ['xx']);
  assert.deepEqual(await query.rows('EXECUTE p'), [null]);
  const listed = 'SELECT RAW identity.name FROM system:functions ORDER BY identity.name';
  assert.deepEqual(await query.rows(listed), ['most', 'twice']);
  await query.rows('INSERT INTO b VALUES ("k", {"n": 4})');
  await query.rows('CREATE FUNCTION nOf(k) { (SELECT RAW t.n FROM b AS t USE KEYS k)[0] }');
  assert.deepEqual(await query.rows('SELECT RAW nOf("k")'), [4]);
  await query.rows('DROP FUNCTION most');
  assert.equal(await query.code('DROP FUNCTION most'), 10101);
  await query.rows('DROP FUNCTION most IF EXISTS');
  assert.equal(await query.code('SELECT most(1)'), 3000);
  assert.equal(await query.code('CREATE FUNCTION loop(a) { loop(a) }'), 0);
  assert.equal(await query.code('SELECT loop(1)'), 10109);
});

test('functions survive a kill; dropping a scope drops its functions', async () => {
  await using first = await NodeProcess.start({ args });
  const before = new QueryClient(first.ready.node.query as string);
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
  const after = new QueryClient(second.ready.node.query as string);
  assert.deepEqual(await after.rows('SELECT RAW [one(), default:b.s.one()]'), [[1, 11]]);
  await after.rows('DROP SCOPE b.s');
  assert.equal(await after.code('SELECT default:b.s.one()'), 3000);
  await after.rows('CREATE SCOPE b.s');
  assert.deepEqual(await after.rows('SELECT RAW one()', inScope), [1]);
});

test('defining and running a function require their roles, and a function grants no others', async () => {
  await using node = await NodeProcess.start({ args });
  const query = new QueryClient(node.ready.node.query as string);
  await query.rows('INSERT INTO b VALUES ("k", {"n": 4})');
  await query.rows('CREATE FUNCTION all_n() { (SELECT RAW t.n FROM b AS t) }');
  const caller = { username: 'caller', password: 'password' };
  const asCaller = new QueryClient(node.ready.node.query as string, caller);
  const withRoles = async (roles: string): Promise<void> => {
    const form = { password: caller.password, roles };
    assert.equal((await node.request('/settings/rbac/users/local/caller', 'PUT', form)).status, 200);
  };
  await withRoles('query_select[b]');
  assert.equal(await asCaller.code('SELECT all_n()'), 13014);
  assert.equal(await asCaller.code('CREATE FUNCTION mine() { 1 }'), 13014);
  await withRoles('query_execute_global_functions');
  assert.equal(await asCaller.code('SELECT all_n()'), 13014);
  await withRoles('query_execute_global_functions,query_select[b]');
  assert.equal(await asCaller.code('SELECT all_n()'), 0);
  assert.equal(await asCaller.code('EXECUTE FUNCTION all_n()'), 0);
  assert.equal(await asCaller.code('DROP FUNCTION all_n'), 13014);
  await withRoles('query_manage_functions[b:_default]');
  const inScope = { query_context: 'default:b._default' };
  assert.equal(await asCaller.code('CREATE FUNCTION mine() { 1 }', inScope), 0);
  assert.equal(await asCaller.code('CREATE FUNCTION mine() { 1 }'), 13014);
  assert.equal(await asCaller.code('CREATE FUNCTION default:mine() { 1 }', inScope), 13014);
});
