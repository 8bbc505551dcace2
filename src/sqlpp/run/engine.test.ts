// Statements over a datastore in memory: results, changes and errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query, runPrepared } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { memoryQuotaExceeded } from '../../../test/support/sql-errors.ts';
import type { Keyspace } from '../datastore/keyspace.ts';
import { jsonText } from '../values/json-text.ts';
import type { ExecuteContext } from './engine.ts';

function aStore(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  const u = datastore.add('u');
  for (let at = 0; at < 5; at++)
    datastore.put(t, `t${at}`, { a: at, b: at % 2, tags: ['x', `y${at}`], n: { m: at * 10 } });
  for (let at = 0; at < 3; at++) datastore.put(u, `u${at}`, { ref: `t${at}`, v: at });
  return datastore;
}

async function answers(statement: string, rows: unknown[], datastore = aStore()): Promise<void> {
  assert.deepEqual(await query(datastore, statement), rows, statement);
}

async function refuses(statement: string, code: number, datastore = aStore()): Promise<void> {
  await assert.rejects(
    query(datastore, statement),
    (error: { code?: number }) => error.code === code,
    statement,
  );
}

test('a query names, filters, sorts and limits', async () => {
  await answers('SELECT 1 AS x, "y"', [{ x: 1, $1: 'y' }]);
  await answers('SELECT o.[o.which], o.["tw" || "o"] FROM {"which": "one", "one": 1, "two": 2} o', [
    { which: 1, $1: 2 },
  ]);
  await answers('SELECT * FROM t USE KEYS "t1"', [{ t: { a: 1, b: 1, tags: ['x', 'y1'], n: { m: 10 } } }]);
  await answers('SELECT META().id, n.m FROM t WHERE a > 2 ORDER BY a DESC', [
    { id: 't4', m: 40 },
    { id: 't3', m: 30 },
  ]);
  await answers('SELECT RAW a FROM t ORDER BY a LIMIT 2 OFFSET 1', [1, 2]);
  await answers('SELECT t.* FROM t LET z = a * 2 WHERE z = 4', [
    { a: 2, b: 0, tags: ['x', 'y2'], n: { m: 20 } },
  ]);
  await answers('SELECT DISTINCT RAW b FROM t ORDER BY b', [0, 1]);
});

test('NOT IN an empty list holds for NULL, with an index too', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const [id, a] of Object.entries({ null: null, one: 1, text: 'x' })) datastore.put(t, id, { a });
  datastore.put(t, 'missing', {});
  const named = new Map([['list', [] as string[]]]);
  for (const index of ['', 'CREATE INDEX i ON t(a)', 'CREATE INDEX j ON t(LENGTH(a))']) {
    if (index !== '') await query(datastore, index);
    for (const [predicate, ids] of [
      ['a NOT IN []', ['null', 'one', 'text']],
      ['a NOT IN $list', ['null', 'one', 'text']],
      ['NOT (a IN $list)', ['null', 'one', 'text']],
      ['LENGTH(a) NOT IN $list', ['null', 'one', 'text']],
      ['a NOT IN [2]', ['one', 'text']],
      ['NOT (a NOT IN [1])', ['one']],
    ] as const) {
      const statement = `SELECT RAW META().id FROM t WHERE ${predicate} ORDER BY META().id`;
      assert.deepEqual(await query(datastore, statement, { named }), ids, `${predicate} ${index}`);
    }
  }
});

test('a query computes groups, aggregates and window functions', async () => {
  await answers('SELECT b, COUNT(*) AS c, SUM(a) AS s FROM t GROUP BY b HAVING COUNT(*) > 2', [
    { b: 0, c: 3, s: 6 },
  ]);
  await answers('SELECT COUNT(*) AS n, MAX(a) AS m FROM t WHERE a > 100', [{ n: 0, m: null }]);
  await answers('SELECT a, RANK() OVER (PARTITION BY b ORDER BY a DESC) AS r FROM t WHERE b = 1 ORDER BY a', [
    { a: 1, r: 2 },
    { a: 3, r: 1 },
  ]);
  await answers(
    'SELECT RAW SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t ORDER BY a',
    [0, 1, 3, 5, 7],
  );
  await refuses('SELECT a, COUNT(*) FROM t GROUP BY b', 4210);
});

test('a query joins, nests and unnests', async () => {
  const pairs = [
    { a: 0, v: 0 },
    { a: 1, v: 1 },
    { a: 2, v: 2 },
  ];
  await answers('SELECT t.a, u.v FROM t JOIN u ON u.ref = META(t).id ORDER BY t.a', pairs);
  await answers('SELECT t.a, u.v FROM u JOIN t ON KEYS u.ref ORDER BY u.v', pairs);
  await answers('SELECT t.a, u.v FROM t LEFT JOIN u ON u.ref = META(t).id WHERE t.a > 1 ORDER BY t.a', [
    { a: 2, v: 2 },
    { a: 3 },
    { a: 4 },
  ]);
  await answers('SELECT t.a, u.v FROM u RIGHT JOIN t ON u.ref = META(t).id WHERE t.a > 1 ORDER BY t.a', [
    { a: 2, v: 2 },
    { a: 3 },
    { a: 4 },
  ]);
  await answers('SELECT t.a, us FROM t NEST u us ON us.ref = META(t).id WHERE t.a = 1', [
    { a: 1, us: [{ ref: 't1', v: 1 }] },
  ]);
  await answers('SELECT RAW x FROM u LEFT NEST t AS x ON KEYS "none" LIMIT 1', [[]]);
  for (const keys of ['[]', 'NULL', 'MISSING'])
    await answers(`SELECT RAW x IS MISSING FROM u LEFT NEST t AS x ON KEYS ${keys} LIMIT 1`, [true]);
  await answers('SELECT g FROM t UNNEST t.tags AS g WHERE t.a = 3 ORDER BY g', [{ g: 'x' }, { g: 'y3' }]);
  await refuses('SELECT b FROM t, u', 3080);
  await refuses('SELECT 1 FROM t AS x, u AS x', 4020);
});

test('a query contains subqueries, set operations and WITH', async () => {
  await answers(
    'SELECT RAW (SELECT RAW u.v FROM u WHERE u.ref = META(t).id)[0] FROM t WHERE a < 2 ORDER BY a',
    [0, 1],
  );
  await answers('SELECT RAW a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.v = t.a) ORDER BY a', [0, 1, 2]);
  await answers('SELECT RAW a FROM t EXCEPT SELECT RAW v FROM u', [3, 4]);
  await answers('SELECT RAW a FROM t INTERSECT SELECT RAW v FROM u', [0, 1, 2]);
  await answers('WITH w AS (SELECT a FROM t WHERE a < 2) SELECT RAW w.a FROM w', [0, 1]);
  await answers(
    'WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT r.n + 1 AS n FROM r WHERE r.n < 3) SELECT RAW r.n FROM r',
    [1, 2, 3],
  );
});

test('RETURNING returns the changed documents', async () => {
  const datastore = aStore();
  await answers(
    'INSERT INTO t (KEY, VALUE) VALUES ("k", {"a": 100}) RETURNING META().id, a',
    [{ id: 'k', a: 100 }],
    datastore,
  );
  await answers(
    'UPDATE t SET a = a + 1, n = {"q": 5} UNSET b WHERE a >= 100 RETURNING a, n.q',
    [{ a: 101, q: 5 }],
    datastore,
  );
  await answers('UPDATE t SET x.k = 1 FOR x IN arr END WHERE a = 1 RETURNING arr', [{}], datastore);
  await answers('DELETE FROM t WHERE a >= 100 RETURNING META().id', [{ id: 'k' }], datastore);
  await answers(
    'UPSERT INTO u (KEY k, VALUE v) SELECT META().id AS k, {"c": a} AS v FROM t WHERE a = 1 RETURNING u.c',
    [{ c: 1 }],
    datastore,
  );
  await answers(
    'MERGE INTO t USING (SELECT u.ref, u.v FROM u WHERE u.ref IS VALUED) s ON KEY s.ref WHEN MATCHED THEN UPDATE SET t.u = s.v RETURNING t.u',
    [{ u: 0 }, { u: 1 }, { u: 2 }],
    datastore,
  );
});

test('an INSERT reports a failed row and continues with the other rows', async () => {
  const errors: Error[] = [];
  const statement = 'INSERT INTO t (KEY, VALUE) VALUES ("t1", {}), ("new", {}) RETURNING RAW META().id';
  assert.deepEqual(await query(aStore(), statement, { errors }), ['new']);
  assert.equal(errors.length, 1);
  assert.match((errors[0] as Error).message, /Duplicate Key: t1/);
});

test('a MERGE refuses to change a document twice', async () => {
  const datastore = aStore();
  await query(datastore, 'UPDATE u SET ref = "t0"');
  await refuses(
    'MERGE INTO t USING u ON META(t).id = u.ref WHEN MATCHED THEN UPDATE SET t.u = 1',
    5320,
    datastore,
  );
});

test('plans use indexes, cover and push limits down', async () => {
  const datastore = aStore();
  await query(datastore, 'CREATE INDEX ia ON t(a)');
  const explain = (statement: string): string => JSON.stringify(prepareOn(datastore, statement).explain);
  assert.match(
    explain('SELECT RAW a FROM t WHERE a > 1 ORDER BY a DESC LIMIT 2'),
    /"covers".*"limit":"2".*"reverse":true/,
  );
  assert.match(explain('SELECT b FROM t WHERE a = 1'), /"index":"ia".*"Fetch"/);
  assert.match(explain('SELECT b FROM t WHERE b = 1'), /#sequentialscan/);
  assert.deepEqual(prepareOn(datastore, 'SELECT b FROM t WHERE a = 1').indexIds, ['0000000000000001']);
});

test('without sequential scans a keyspace needs an index', () => {
  assert.throws(
    () => prepareOn(aStore(), 'SELECT * FROM t', { sequentialScans: false }),
    /No index available/,
  );
});

test('one ANY holds for one element, two may hold for different elements', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  datastore.put(t, 'both', { items: [{ k: 1, n: 'a' }] });
  datastore.put(t, 'apart', {
    items: [
      { k: 1, n: 'b' },
      { k: 2, n: 'a' },
    ],
  });
  const where = 'ANY i IN items SATISFIES i.k = 1 END AND ANY i IN items SATISFIES i.n = "a" END';
  const statement = `SELECT RAW META().id FROM t WHERE ${where} ORDER BY META().id`;
  assert.deepEqual(await query(datastore, statement), ['apart', 'both']);
  const same = 'SELECT RAW META().id FROM t WHERE ANY i IN items SATISFIES i.k = 1 AND i.n = "a" END';
  assert.deepEqual(await query(datastore, same), ['both']);
});

test('an index of FIRST or OBJECT is not used for a predicate that must look at every element of the array', async () => {
  for (const range of ['FIRST v FOR v IN list END', 'OBJECT "k": v FOR v IN list END']) {
    const datastore = new MemoryDatastore();
    const t = datastore.add('t');
    datastore.put(t, 'second', { list: [[1], 5] });
    datastore.put(t, 'inner', { list: [[5]] });
    await query(datastore, `CREATE INDEX i ON t(DISTINCT ${range})`);
    const id = 'SELECT RAW META(t).id FROM t';
    await answers(`${id} WHERE ANY v IN list SATISFIES v = 5 END`, ['second'], datastore);
    await answers(`${id} UNNEST t.list u WHERE u = 5`, ['second'], datastore);
  }
});

test('an index key must be deterministic', async () => {
  for (const call of [
    'now_tz("UTC")',
    'now_local()',
    'now_millis()',
    'node_name()',
    'clock_local()',
    'clock_tz("UTC")',
    'random()',
    'uuid()',
  ])
    await refuses(`CREATE INDEX i ON t(a || ${call})`, 3280);
  await answers('CREATE INDEX i ON t(LOWER(a))', []);
});

test('a LIMIT counts only matching rows, however long the lists of IN are', async () => {
  const datastore = aStore();
  await query(datastore, 'CREATE INDEX ia ON t(a)');
  const one = prepareOn(datastore, 'SELECT RAW a FROM t WHERE a IN $1 ORDER BY a LIMIT 1');
  const list = Array.from({ length: 10_000 }, (_, at) => at + 3);
  assert.deepEqual(await runPrepared(datastore, one, { positional: [list] }), [3]);
  await query(datastore, 'CREATE INDEX iab ON t(a, b)');
  const two = prepareOn(datastore, 'SELECT RAW a FROM t WHERE a IN $1 AND b IN $2 ORDER BY a LIMIT 1');
  const [as, bs] = [2, 1].map((first) => Array.from({ length: 100 }, (_, at) => first + at));
  assert.deepEqual(await runPrepared(datastore, two, { positional: [as, bs] }), [3]);
  await query(datastore, 'DROP INDEX ia ON t');
  const literal = `a IN [${as?.slice(0, 40)}] AND b IN [${bs?.slice(0, 40)}]`;
  await answers(`SELECT RAW a FROM t WHERE ${literal} LIMIT 1`, [3], datastore);
});

test('a LIMIT counts no rows whose comparison with an array or an object is NULL', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const [id, a] of Object.entries({ x: [null], y: [1], z: [2], o: { k: null } }))
    datastore.put(t, id, { a });
  await query(datastore, 'CREATE INDEX ia ON t(a)');
  for (const [predicate, ids] of [
    ['a < [2]', ['y']],
    ['[1] >= a', ['y']],
    ['a BETWEEN [] AND [1]', ['y']],
    ['a IN [[null], [2]]', ['z']],
    ['a = {"k": null} OR a = [null] OR a = [2]', ['z']],
  ] as const)
    await answers(`SELECT RAW META().id FROM t WHERE ${predicate} LIMIT 1`, [...ids], datastore);
});

test('parameters can name a keyspace when the statement runs', async () => {
  const datastore = aStore();
  const prepared = prepareOn(datastore, 'SELECT d.a FROM $1 AS d USE KEYS $2');
  assert.deepEqual(await runPrepared(datastore, prepared, { positional: ['default:t', 't3'] }), [{ a: 3 }]);
});

test('a statement ends when aborted, and above its memory quota', async () => {
  const datastore = aStore();
  const aborted = AbortSignal.abort(new Error('cancelled'));
  await assert.rejects(query(datastore, 'SELECT * FROM t', { signal: aborted }), /cancelled/);
  await assert.rejects(
    query(datastore, 'SELECT * FROM t ORDER BY b', { memoryQuotaBytes: 100 }),
    /memory quota/,
  );
});

test('leaving the loop early ends all operators', async () => {
  const datastore = aStore();
  const prepared = prepareOn(datastore, 'SELECT t.a FROM t UNNEST ARRAY_RANGE(0, 10000) AS x');
  const execution = prepared.program.run(prepared, contextOf(datastore));
  for await (const rows of execution.rows) {
    assert.equal(rows.length, 256);
    break;
  }
});

test('window functions larger than their share of memory continue in files, with the same rows', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < 3000; at++)
    datastore.put(t, `t${at}`, { a: at, b: at % 40, c: at % 7, text: 'x'.repeat(100) });
  const statement = `SELECT a, text, SUM(a) OVER (PARTITION BY b ORDER BY a) AS s, RANK() OVER (PARTITION BY c ORDER BY a DESC) AS r,
    COUNT(*) OVER () AS n FROM t`;
  const sorted = (rows: unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort();
  const whole = sorted(await query(datastore, statement));
  let files = 0;
  const prepared = prepareOn(datastore, statement);
  const context = contextOf(datastore, { spillBytes: 20_000 });
  const scratch = () => {
    files++;
    return context.scratch();
  };
  const counting = { ...context, scratch };
  const rows: unknown[] = [];
  for await (const batch of prepared.program.run(prepared, counting).rows)
    for (const row of batch) rows.push(JSON.parse(jsonText(row)));
  assert.ok(files > 0, 'nothing was spilled');
  assert.deepEqual(sorted(rows), whole);
});

/** Sorts rows with this length; counts the parts of the file that are read before the first row, and the collections of garbage. */
async function sortOf(count: number, length: number, spillBytes: number) {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < count; at++)
    datastore.put(t, `t${at}`, { a: (at * 7919) % count, text: 'x'.repeat(length) });
  const prepared = prepareOn(datastore, 'SELECT a, text FROM t ORDER BY a');
  const context = contextOf(datastore, { spillBytes });
  const counted = { reads: 0, readFirst: 0, collections: 0 };
  const counting: ExecuteContext = {
    ...context,
    collectGarbage: () => void counted.collections++,
    scratch: async () => {
      const file = await context.scratch();
      const read = file.read.bind(file);
      file.read = (position) => {
        counted.reads++;
        return read(position);
      };
      return file;
    },
  };
  const rows: number[] = [];
  for await (const batch of prepared.program.run(prepared, counting).rows) {
    counted.readFirst ||= counted.reads;
    for (const row of batch) rows.push((JSON.parse(jsonText(row)) as { a: number }).a);
  }
  assert.deepEqual(
    rows,
    Array.from({ length: count }, (_, at) => at),
  );
  return counted;
}

test('a sort larger than its share of memory writes one run each time that it reaches the share', async () => {
  const { readFirst } = await sortOf(24_000, 50, 3_000_000);
  // The first batch reads the first part of two or three runs, and the second part of some. With runs of 2,048 rows there would be 12 runs.
  assert.ok(readFirst > 0 && readFirst <= 6, `${readFirst} parts`);
});

test('a sort collects garbage after it has released much memory, not after each run', async () => {
  assert.equal((await sortOf(6_000, 50, 100_000)).collections, 0);
  assert.equal((await sortOf(6_000, 4_000, 1_000_000)).collections, 1);
});

test('a document that changes between the read and the write of a statement is not overwritten', async () => {
  const datastore = aStore();
  const keyspace = datastore.find({
    namespace: 'default',
    bucket: 't',
    scope: '_default',
    collection: '_default',
  }) as Keyspace;
  const { read } = datastore.documents;
  datastore.documents.readNow = () => null;
  datastore.documents.read = async (...parameters) => {
    const found = await read(...parameters);
    datastore.put(keyspace, 't1', { a: 'of another writer' });
    return found;
  };
  const errors: Error[] = [];
  await query(datastore, 'UPDATE t USE KEYS "t1" SET a = 5', { errors });
  const [{ message, reason }] = errors as unknown as [{ message: string; reason: { code: number } }];
  assert.deepEqual([message.slice(35, 47), reason.code], ['CAS mismatch', 12033]);
  await answers('SELECT RAW a FROM t USE KEYS "t1"', ['of another writer'], datastore);
});

test('results of functions in another language count as memory until their row is done', async () => {
  const found = { parameters: ['x'], isVariadic: false, language: 'javascript', body: 'f' } as const;
  const userFunctions = { find: () => found, call: async () => 'x'.repeat(100_000) };
  const ask = (text: string) =>
    query(new MemoryDatastore(), text, { userFunctions, memoryQuotaBytes: 1 << 20 });
  const range = 'ARRAY_RANGE(0, 30)';
  assert.deepEqual(await ask(`SELECT RAW SUM(LENGTH(f(v))) FROM ${range} v`), [3_000_000]);
  await assert.rejects(
    ask(`SELECT RAW ARRAY_SUM(ARRAY LENGTH(f(v)) FOR v IN ${range} END)`),
    memoryQuotaExceeded,
  );
});
