import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

const refused: readonly (readonly [statement: string, code: number, text: RegExp])[] = [
  ['SELECT SUM(COUNT(a)) FROM t GROUP BY b', 4000, /^Nested aggregates are not allowed \(near line 1/],
  ['SELECT SUM(SUM(a) OVER ()) FROM t', 4000, /^Window aggregates are not allowed inside Aggregates/],
  [
    'SELECT SUM(RANK() OVER (ORDER BY a)) OVER () FROM t',
    4000,
    /^Window aggregates are not allowed inside Window/,
  ],
  ['SELECT a FROM t LET x = COUNT(a) WHERE a = 1', 4000, /^Aggregates not allowed in LET /],
  ['SELECT a FROM t WHERE SUM(a) > 1', 4000, /^Aggregates not allowed in WHERE \(near line 1/],
  ['SELECT a FROM t WHERE SUM(a) OVER () > 1', 4000, /^Window Aggregates not allowed in WHERE/],
  ['SELECT a FROM t GROUP BY COUNT(a)', 4000, /^Aggregates not allowed in GROUP BY/],
  ['SELECT b FROM t GROUP BY b LETTING x = RANK() OVER (ORDER BY b)', 4000, /in LETTING/],
  ['SELECT b FROM t GROUP BY b HAVING RANK() OVER (ORDER BY b) > 1', 4000, /in HAVING/],
  ['SELECT a FROM t ORDER BY COUNT(a)', 4000, /^Aggregates not available for this ORDER BY/],
  ['SELECT SUM(a) FILTER (WHERE a IN (SELECT RAW 1)) FROM t', 4000, /^Subqueries are not allowed/],
  ['SELECT ARRAY SUM(v) FOR v IN [1] END FROM t', 4000, /^Aggregates cannot depend on `v`, a variable of /],
  ['SELECT ANY v IN [1] SATISFIES MAX(a) FILTER (WHERE a > v) = 1 END FROM t', 4000, /depend on `v`/],
  ['SELECT FIRST v FOR v IN [1] WHEN RANK() OVER (ORDER BY v) = 1 END FROM t', 4000, /depend on `v`/],
  ['SELECT ARRAY SUM((SELECT RAW u.a + v FROM t AS u)[0]) FOR v IN [1] END FROM t', 4000, /depend on `v`/],
  ['SELECT t.a FROM t JOIN t AS u ON SUM(t.a) = u.a', 3100, /^Aggregates\/Window functions are allowed in/],
  ['UPDATE t SET a = COUNT(*)', 3100, /^Aggregates\/Window functions are allowed in/],
  ['DELETE FROM t WHERE COUNT(*) > 1', 3100, /^Aggregates\/Window functions are allowed in/],
  ['SELECT FLATTEN_KEYS(a, b) FROM t', 3283, /not allowed in this context/],
  ['SELECT RANK() OVER () FROM t', 3220, /^RANK window function ORDER BY clause is required/],
  ['SELECT LAG(a, -1) OVER (ORDER BY a) FROM t', 3220, /second value/],
  ['SELECT RANK() OVER (ORDER BY a ROWS 1 PRECEDING) FROM t', 3220, /window frame is not allowed\./],
  ['SELECT SUM(a) OVER (ROWS 1 PRECEDING) FROM t', 3220, /without ORDER BY/],
  ['SELECT SUM(a) OVER (ORDER BY a ROWS 1 FOLLOWING) FROM t', 3220, /invalid window frame/],
  ['SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM t', 3220, /invalid/],
  ['SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM t', 3220, /inv/],
  ['SELECT SUM(a) OVER (ORDER BY a ROWS -1 PRECEDING) FROM t', 3220, /value expression is invalid/],
  ['SELECT SUM(a) OVER (ORDER BY a ROWS 1.5 PRECEDING) FROM t', 3220, /value expression is invalid/],
  ['SELECT SUM(a) OVER (ORDER BY a, b RANGE 1 PRECEDING) FROM t', 3220, /multiple ORDER BY terms/],
];

const accepted = [
  'SELECT SUM(SUM(a)) OVER () FROM t GROUP BY b',
  'SELECT RANK() OVER (ORDER BY SUM(a)) FROM t GROUP BY b',
  'SELECT b, (SELECT RAW COUNT(*) FROM t AS u) FROM t WHERE a IN (SELECT RAW MAX(a) FROM t AS u)',
  'SELECT b FROM t GROUP BY b ORDER BY COUNT(a)',
  'SELECT SUM(a) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) FROM t WINDOW w AS (ORDER BY a)',
  'SELECT RANK() OVER w FROM t WINDOW w AS (ORDER BY a)',
  'SELECT SUM(a) OVER (ORDER BY a, b RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t',
  'SELECT SUM(a) OVER (ORDER BY a RANGE BETWEEN 1.5 PRECEDING AND 0.5 FOLLOWING) FROM t',
  'SELECT ARRAY SUM(a) + v FOR v IN [MAX(a)] END FROM t',
  'SELECT ARRAY SUM(FIRST w FOR w IN [a] END) + v FOR v IN [1] END FROM t',
  'SELECT ARRAY (SELECT RAW SUM(v) FROM [1] AS q) FOR v IN [1] END FROM t',
];

test('the planner refuses aggregates, window functions and FLATTEN_KEYS() where they cannot be computed, and windows that are not valid', async (t) => {
  t.plan(refused.length);
  const datastore = aStore();
  for (const [statement, code, text] of refused)
    await t.test(statement, () =>
      assert.rejects(query(datastore, statement), (error: { code?: number; message: string }) => {
        assert.equal(error.code, code);
        assert.match(error.message, text);
        return true;
      }),
    );
});

test('the planner accepts aggregates and window functions over groups, in subqueries and over named windows', async () => {
  const datastore = aStore();
  for (const statement of accepted) await query(datastore, statement);
  assert.deepEqual(await query(datastore, accepted[0] as string), [{ $1: 6 }, { $1: 6 }]);
});

function aStore(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < 4; at++) datastore.put(t, `t${at}`, { a: at, b: at % 2 });
  return datastore;
}
