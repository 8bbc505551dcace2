// User-defined functions in JavaScript: libraries by REST, functions by statements of the official SDK, their bounds, rights and storage.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Cluster, QueryOptions } from 'couchbase';
import { administrator } from '../support/node-process.ts';
import { type Account, QueryClient } from '../support/query-client.ts';
import { RestartedNode } from '../support/restarted-node.ts';
import { connect } from '../support/sdk.ts';

const node = new RestartedNode('shop');
let cluster: Cluster;
const caller = { username: 'caller', password: 'password' };

const code = `function add(a, b) { return a + b; }
function total(...numbers) { return numbers.reduce((sum, n) => sum + n, 0); }
function kinds(...values) { return values.map((value) => (value === null ? 'null' : typeof value)); }
function same(x) { return x; }
function fail(x) {
  throw new TypeError('not ' + x);
}
function failText() { throw 'failure'; }
function endless() { for (;;); }
let count = 0;
function counted() { return ++count; }
`;

async function library(
  method: string,
  path: string,
  body?: string | Buffer<ArrayBuffer>,
  account: Account = administrator,
) {
  const { username, password } = account;
  const response = await fetch(`${node.process.ready.node.query}/evaluator/v1/libraries${path}`, {
    method,
    headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
    ...(body !== undefined && { body }),
  });
  return { status: response.status, text: await response.text() };
}

const rows = async (statement: string, options: QueryOptions = {}): Promise<unknown[]> =>
  (await cluster.query(statement, options)).rows;
const ask = (statement: string, parameters = {}, account: Account = administrator) =>
  new QueryClient(node.process.ready.node.query ?? '', account).ask(statement, parameters);
const codeOf = async (...parameters: Parameters<typeof ask>) =>
  (await ask(...parameters)).errors?.[0]?.code ?? 0;

async function start(): Promise<void> {
  await node.start();
  cluster = await connect(`couchbase://${node.process.ready.node.kv}`, administrator);
}

before(async () => {
  await start();
  await rows('CREATE SCOPE shop.s');
  await rows('CREATE SCOPE shop.t');
  assert.deepEqual(await library('POST', '/math', code), { status: 200, text: '' });
  for (const name of ['total', 'kinds', 'fail', 'failText', 'endless', 'counted'])
    await rows(`CREATE FUNCTION ${name}(...) LANGUAGE JAVASCRIPT AS "${name}" AT "math"`);
  await rows('CREATE FUNCTION plus(a, b) LANGUAGE JAVASCRIPT AS "add" AT "math"');
  await rows('CREATE FUNCTION same(x) LANGUAGE JAVASCRIPT AS "same" AT "math"');
});
after(async () => {
  await cluster?.close();
  await node[Symbol.asyncDispose]();
});

test('a function runs in expressions, in EXECUTE FUNCTION and in prepared statements', async () => {
  assert.deepEqual(await rows('SELECT RAW plus(1, $1)', { parameters: [2] }), [3]);
  assert.deepEqual(await rows('EXECUTE FUNCTION total(1, 2, 3)'), [6]);
  assert.deepEqual(
    await rows('SELECT RAW x FROM [3, 1, 2] AS x WHERE plus(x, 1) > 2 ORDER BY plus(0, -x)'),
    [3, 2],
  );
  assert.deepEqual(await rows('SELECT RAW same(x) FROM [1, 1, 2] AS x GROUP BY x ORDER BY x'), [1, 2]);
  assert.equal(await codeOf('SELECT plus(1)'), 10104);
  await rows('PREPARE sums AS SELECT RAW plus(20, 22)');
  assert.deepEqual(await rows('EXECUTE sums'), [42]);
  await rows('CREATE OR REPLACE FUNCTION plus(a, b) { a - b }');
  assert.deepEqual(await rows('EXECUTE sums'), [-2]);
  await rows('CREATE OR REPLACE FUNCTION plus(a, b) LANGUAGE JAVASCRIPT AS "add" AT "math"');
  assert.deepEqual(await rows('EXECUTE sums'), [42]);
  await library('POST', '/math', code.replace('return a + b', 'return a * b'));
  assert.deepEqual(await rows('EXECUTE sums'), [440]);
  await library('POST', '/math', code);
  assert.match(JSON.stringify(await rows('EXPLAIN SELECT plus(1, 2)')), /plus/);
  assert.equal(await codeOf('CREATE INDEX i ON shop(same(a))'), 3280);
});

test('a function gives the same rows in every clause as one in SQL++', async () => {
  await rows(
    'INSERT INTO shop VALUES ("k2", {"n": 1, "a": [1, 2]}), ("k4", {"n": 2, "a": [3]}), ("k6", {"n": 4})',
  );
  await rows('CREATE INDEX n ON shop(n)');
  const statements = [
    'SELECT RAW t.n FROM shop t WHERE t.n = F(1)',
    'SELECT RAW t.n FROM shop t WHERE t.n IN [F(1), F(2)] AND F(t.n) > 2 ORDER BY F(-t.n)',
    'SELECT RAW t.n FROM shop t USE KEYS "k" || TO_STRING(F(2))',
    'SELECT RAW COUNT(*) FROM shop t GROUP BY F(t.n) HAVING SUM(F(t.n)) > 2 ORDER BY F(t.n)',
    'SELECT RAW t.n FROM shop t WHERE t.n > 0 ORDER BY t.n LIMIT F(1) OFFSET F(0.5)',
    'SELECT RAW x FROM shop t UNNEST t.a AS x WHERE F(x) > 2 ORDER BY x',
    'SELECT RAW [l.n, r.n] FROM shop l JOIN shop r ON r.n = F(l.n) ORDER BY l.n',
    'SELECT RAW [l.n, r.n] FROM shop l LEFT JOIN shop r USE HASH(build) ON r.n = F(l.n) ORDER BY l.n',
    'SELECT RAW ARRAY F(v) FOR v IN t.a WHEN F(v) > 2 END FROM shop t WHERE t.n > 0 ORDER BY t.n',
    'SELECT RAW v FROM shop t LET v = F(F(t.n)) WHERE v > 4 ORDER BY v',
    'WITH w AS (SELECT RAW F(t.n) FROM shop t) SELECT RAW ARRAY_SORT(w)',
    'SELECT RAW (SELECT RAW F(u.n + F(t.n)) FROM shop u ORDER BY u.n)[0] FROM shop t ORDER BY t.n',
    'SELECT t.n, SUM(F(t.n)) OVER (PARTITION BY F(t.n) % 4 ORDER BY F(t.n)) AS w FROM shop t ORDER BY t.n',
    'SELECT RAW F(x) FROM ARRAY_RANGE(0, 300) x WHERE F(x) % 7 = 0',
    'UPDATE shop t SET t.m = F(t.n) WHERE F(t.n) > 4 RETURNING RAW F(t.m)',
    'INSERT INTO shop (KEY k, VALUE v) SELECT "i" || TO_STRING(F(x)) AS k, {"n": F(x + 99)} AS v FROM [1, 2] x RETURNING RAW n',
    'MERGE INTO shop t USING [1, 2] AS s ON KEY "k" || TO_STRING(F(s)) WHEN MATCHED THEN UPDATE SET t.q = F(s) RETURNING RAW t.q',
    'DELETE FROM shop t WHERE F(t.n) >= 100 RETURNING RAW F(t.n)',
  ];
  const answers = async (definition: string): Promise<unknown[]> => {
    await rows(definition);
    const found = [];
    for (const statement of statements) found.push([statement, await rows(statement)]);
    return found;
  };
  const inline = await answers('CREATE FUNCTION F(x) { x * 2 }');
  await library('POST', '/two', 'function double(x) { return typeof x === "number" ? x * 2 : null; }');
  const replaced = 'CREATE OR REPLACE FUNCTION F(x) LANGUAGE JAVASCRIPT AS "double" AT "two"';
  assert.deepEqual(await answers(replaced), inline);
  await rows('DROP FUNCTION F');
  assert.equal((await library('DELETE', '/two')).status, 200);
  await rows('DELETE FROM shop');
});

test('values are JSON: MISSING is undefined, and integers above 2^53 become doubles', async () => {
  assert.deepEqual(await rows('SELECT RAW kinds(MISSING, NULL, 1, "x", [], TRUE)'), [
    ['undefined', 'null', 'number', 'string', 'object', 'boolean'],
  ]);
  assert.deepEqual(await rows('SELECT same(MISSING) IS MISSING AS a, same(NULL) IS NULL AS b'), [
    { a: true, b: true },
  ]);
  assert.deepEqual(await rows('SELECT RAW TO_STRING(same(9007199254740993))'), ['9007199254740992']);
  assert.deepEqual(await rows('SELECT RAW same({"a": [1.5, {"é": "<"}]})'), [{ a: [1.5, { é: '<' }] }]);
  // Each row calls the function, and global variables last for a statement at most.
  for (let round = 0; round < 2; round++)
    assert.deepEqual(await rows('SELECT RAW counted() FROM [1, 2, 3] AS x'), [1, 2, 3]);
});

test('what a function throws, and its limits, are errors with their reason', async () => {
  const thrown = (await ask('SELECT fail("x")')).errors?.[0] as { reason?: object } | undefined;
  assert.deepEqual(thrown, {
    code: 10109,
    msg: "Error executing function 'fail' (math:fail)",
    reason: {
      details: {
        Code: "  throw new TypeError('not ' + x);",
        Exception: 'TypeError: not x',
        Location: 'functions/math.js:6',
        Stack: '   at fail (functions/math.js:6:22)',
      },
      type: 'Exceptions from JS code',
    },
  });
  const text = (await ask('SELECT failText()')).errors?.[0] as { reason?: object } | undefined;
  assert.deepEqual(text?.reason, { details: { Exception: 'failure' }, type: 'Exceptions from JS code' });
  assert.equal(await codeOf('SELECT endless()', { timeout: '50ms' }), 1080);
  assert.deepEqual(await rows('SELECT RAW total(1)'), [1], 'a call after an endless one does not run');
  await rows('CREATE FUNCTION none() LANGUAGE JAVASCRIPT AS "f" AT "nowhere"');
  const absent = (await ask('SELECT none()')).errors?.[0] as { reason?: object } | undefined;
  assert.deepEqual(absent?.reason, {
    details: 'library nowhere: it does not exist',
    type: 'Library or function missing',
  });
  assert.equal(await codeOf('SELECT same($x)', { $x: 'x'.repeat(5 << 20) }), 10109);
  assert.equal(await codeOf('CREATE FUNCTION none2() LANGUAGE JAVASCRIPT AS "f"'), 3000);
});

test('libraries are read, replaced and deleted by REST, which names what is wrong', async () => {
  assert.deepEqual(JSON.parse((await library('GET', '/math')).text), { math: code });
  const scoped = '?bucket=shop&scope=s';
  const own = 'function mine() { return "s"; }';
  assert.equal((await library('POST', `/own${scoped}`, own)).status, 200);
  assert.deepEqual(JSON.parse((await library('GET', scoped)).text), [
    { name: 'own', bucket: 'shop', scope: 's', code: own },
  ]);
  assert.equal((JSON.parse((await library('GET', '/')).text) as unknown[]).length, 2);
  await rows('CREATE FUNCTION default:shop.s.mine() LANGUAGE JAVASCRIPT AS "mine" AT "./own"');
  await rows('CREATE FUNCTION default:shop.s.mine2() LANGUAGE JAVASCRIPT AS "mine" AT "shop/s/own"');
  assert.deepEqual(await rows('SELECT RAW default:shop.s.mine() || default:shop.s.mine2()'), ['ss']);
  for (const path of ['shop/s/own', '/own', 'a/b', 'shop/t/own', './a/b'])
    assert.equal(
      await codeOf(`CREATE FUNCTION default:shop.t.x() LANGUAGE JAVASCRIPT AS "f" AT "${path}"`),
      path === 'shop/t/own' ? 0 : 10114,
      path,
    );
  const listed = 'SELECT RAW definition FROM system:functions WHERE identity.name = "mine"';
  assert.deepEqual(await rows(listed), [
    {
      '#language': 'javascript',
      libName: 'own',
      library: './own',
      object: 'mine',
      parameters: [],
      prefix: 'shop/s',
    },
  ]);
  const refusals: [string, string, string | Buffer<ArrayBuffer> | undefined, number, RegExp][] = [
    ['GET', '/nosuch', undefined, 404, /library: there is no nosuch/],
    ['DELETE', '/nosuch', undefined, 404, /library: there is no nosuch/],
    [
      'DELETE',
      `/own${scoped}`,
      undefined,
      400,
      /drop the functions that use shop\/s\/own first: mine, mine2/,
    ],
    ['GET', '/math?bucket=shop', undefined, 400, /bucket and scope/],
    ['POST', '/x?bucket=shop&scope=u', own, 404, /bucket and scope: there is no shop.u/],
    ['POST', '/x', 'function f( {', 400, /body: SyntaxError.* at functions\/x.js:1/],
    ['POST', '/x', ' ', 400, /body: it must be the code/],
    ['POST', '/x', `/*${'x'.repeat(128 << 10)}*/`, 400, /body: a library has at most 131072 bytes/],
    ['POST', '/x', Buffer.from([0x22, 0xe9, 0x22]), 400, /body: it must be text in UTF-8/],
    ['POST', '/a%2Fb', own, 400, /library: a name has/],
    ['PUT', '/math', own, 405, /GET, POST or DELETE/],
  ];
  for (const [method, path, body, status, text] of refusals) {
    const answer = await library(method, path, body);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    assert.match(answer.text, text);
  }
  assert.equal((await library('POST', '/quoted', JSON.stringify(own))).status, 200);
  assert.equal((await library('DELETE', '/quoted')).status, 200);
});

test('libraries and functions require the rights to external functions', async () => {
  const withRoles = async (roles: string): Promise<void> => {
    const form = { password: caller.password, roles };
    assert.equal((await node.process.request('/settings/rbac/users/local/caller', 'PUT', form)).status, 200);
  };
  const create = (name: string) =>
    `CREATE OR REPLACE FUNCTION ${name}() LANGUAGE JAVASCRIPT AS "f" AT "math"`;
  const as = (statement: string) => codeOf(statement, {}, caller);
  const status = async (method: string, path: string, body?: string) =>
    (await library(method, path, body, caller)).status;
  await rows('CREATE FUNCTION inlined() { 1 }');
  await withRoles('query_manage_global_functions,query_execute_global_functions');
  assert.deepEqual(
    [await as(create('x')), await as('SELECT total(1)'), await as('EXECUTE FUNCTION total(1)')],
    [13014, 13014, 13014],
  );
  assert.deepEqual(
    [await as('DROP FUNCTION total'), await as('CREATE OR REPLACE FUNCTION total() { 1 }')],
    [13014, 13014],
  );
  assert.deepEqual([await status('POST', '/x', code), await status('GET', '/math')], [401, 401]);
  assert.deepEqual(await library('GET', '', undefined, caller), { status: 200, text: '[]' });
  await withRoles('query_execute_global_external_functions');
  assert.deepEqual(
    [await as('SELECT total(1)'), await as('EXECUTE FUNCTION total(1)'), await as('SELECT inlined()')],
    [0, 0, 13014],
  );
  assert.equal(await status('GET', '/math'), 401);
  await withRoles('query_manage_global_external_functions');
  assert.deepEqual(
    [await as(create('x')), await as('DROP FUNCTION x'), await as(create('inlined'))],
    [0, 0, 13014],
  );
  assert.deepEqual([await status('POST', '/y', code), await status('DELETE', '/y')], [200, 200]);
  assert.equal(await status('GET', '/own?bucket=shop&scope=s'), 401);
  await withRoles('query_manage_external_functions[shop:s]');
  assert.deepEqual([await status('GET', '/math'), await status('POST', '/math', code)], [200, 401]);
  assert.equal(await status('POST', '/z?bucket=shop&scope=s', code), 200);
  assert.equal(await status('POST', '/z?bucket=shop&scope=t', code), 401);
  assert.deepEqual([await as(create('default:shop.s.z')), await as(create('default:shop.t.z'))], [0, 13014]);
  await withRoles('query_execute_external_functions[shop:s]');
  assert.deepEqual([await as('SELECT default:shop.s.mine()'), await as('SELECT total(1)')], [0, 13014]);
  assert.equal((await library('GET', '', undefined, { username: 'nobody', password: 'x' })).status, 401);
});

test('functions and libraries survive a kill, and end with their scope', async () => {
  await cluster.close();
  await node.process.stop('SIGKILL');
  await start();
  assert.deepEqual(await rows('SELECT RAW [plus(1, 2), default:shop.s.mine()]'), [[3, 's']]);
  await rows('DROP SCOPE shop.s');
  await rows('CREATE SCOPE shop.s');
  assert.deepEqual(await library('GET', '?bucket=shop&scope=s'), { status: 200, text: '[]' });
});
