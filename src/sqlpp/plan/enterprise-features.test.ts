import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

/** Statements with the code and the text of their refusal. */
const refused: readonly (readonly [string, number, string])[] = [
  ['SELECT RANK() OVER (ORDER BY a) FROM t', 3230, "'Window function' is an enterprise level feature."],
  ['SELECT 1 FROM (SELECT SUM(a) OVER () AS s FROM t) AS x', 3230, "'Window function' is an"],
  ['SELECT RAW COUNT(*) OVER w FROM t WINDOW w AS (PARTITION BY a)', 3230, "'Window function' is"],
  ['UPDATE t SET a = (SELECT RAW LAG(x) OVER (ORDER BY x) FROM [1, 2] x)', 3230, "'Window function' is an"],
  ['EXPLAIN SELECT ROW_NUMBER() OVER () FROM t', 3230, "'Window function' is an enterprise level"],
  ['PREPARE p AS SELECT ROW_NUMBER() OVER () FROM t', 3230, "'Window function' is an enterprise level"],
  ['CREATE FUNCTION f() { (SELECT ROW_NUMBER() OVER () FROM [1] x) }', 3230, "'Window function' is an"],
  ['ADVISE SELECT a FROM t', 3230, "'Advise' is an enterprise level feature."],
  ['SELECT ADVISOR("SELECT 1")', 3230, "'Advisor Function' is an enterprise level feature."],
  ['UPDATE STATISTICS FOR t(a)', 3230, "'Update Statistics' is an enterprise level feature."],
  ['ANALYZE t(a)', 3230, "'Update Statistics' is an enterprise level feature."],
  [
    'CREATE FUNCTION f() LANGUAGE JAVASCRIPT AS "f" AT "l"',
    10100,
    'Functions of type javascript are only supported in Enterprise Edition',
  ],
  ['BEGIN WORK', 17097, 'Transactions are not supported in Community Edition'],
];

test('the community edition refuses features of the enterprise edition, with the texts that clients search for', async () => {
  const datastore = new MemoryDatastore();
  datastore.add('t');
  for (const [statement, code, text] of refused)
    await assert.rejects(
      query(datastore, statement, { isCommunityEdition: true }),
      (error: Error & { code?: number }) => {
        assert.equal(error.code, code, statement);
        assert.ok(error.message.startsWith(text), error.message);
        return true;
      },
    );
});

test('the community edition refuses calls of functions in other languages, also of functions that exist', async () => {
  const datastore = new MemoryDatastore();
  const userFunctions = {
    find: ([name = '']: readonly string[]) =>
      name === 'f'
        ? ({ parameters: [], isVariadic: false, language: 'javascript', body: 'f' } as const)
        : ({
            parameters: [],
            isVariadic: false,
            language: 'inline',
            body: name === 'g' ? 'f()' : '1',
          } as const),
    call: async () => 2,
  };
  for (const statement of ['SELECT RAW f()', 'SELECT RAW g()']) {
    const run = (isCommunityEdition: boolean) =>
      query(datastore, statement, { userFunctions, isCommunityEdition });
    await assert.rejects(run(true), (error: { code?: number }) => error.code === 10100, statement);
    assert.deepEqual(await run(false), [2]);
  }
  assert.deepEqual(
    await query(datastore, 'SELECT RAW h()', { userFunctions, isCommunityEdition: true }),
    [1],
  );
});

test('the community edition runs statements without features of the enterprise edition', async () => {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'k', { a: 1 });
  for (const statement of [
    'SELECT a, COUNT(*) FILTER (WHERE a = 1) AS n FROM t GROUP BY a',
    'SELECT {"kind": "aggregate", "over": 1} AS x FROM t',
    'CREATE INDEX i ON t(a) WITH {"defer_build": true}',
  ])
    await query(datastore, statement, { isCommunityEdition: true });
});
