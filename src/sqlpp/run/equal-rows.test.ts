// Which rows are duplicates for DISTINCT, GROUP BY and set operators, and which rows are equal in joins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

const answers = async (statement: string, rows: readonly unknown[]): Promise<void> =>
  assert.deepEqual(await query(new MemoryDatastore(), statement), rows, statement);

test('arrays that differ only by MISSING and NULL are duplicates', async () => {
  const lists = '[[2, MISSING], [2, NULL], [2]] AS v';
  await answers(`SELECT DISTINCT RAW v FROM ${lists}`, [[2, null], [2]]);
  await answers(`SELECT v, COUNT(*) AS c FROM ${lists} GROUP BY v ORDER BY c`, [
    { v: [2], c: 1 },
    { v: [2, null], c: 2 },
  ]);
  await answers('SELECT RAW v FROM [[MISSING]] AS v INTERSECT SELECT RAW w FROM [[NULL]] AS w', [[null]]);
  await answers('SELECT RAW v FROM [[MISSING]] AS v UNION SELECT RAW w FROM [[NULL]] AS w', [[null]]);
});

test('MISSING and NULL are different keys, also among several', async () => {
  const rows = '[{"a": 1}, {"a": 1, "b": NULL}, {"b": NULL}] AS v';
  await answers(`SELECT DISTINCT v.a, v.b FROM ${rows}`, [{ a: 1 }, { a: 1, b: null }, { b: null }]);
  await answers(`SELECT RAW COUNT(*) FROM ${rows} GROUP BY v.a, v.b`, [1, 1, 1]);
  await answers(`SELECT RAW COUNT(*) FROM ${rows} GROUP BY v.b ORDER BY v.b`, [1, 2]);
  const lists = '[[NULL, MISSING], [NULL, NULL], [MISSING, MISSING]] AS v';
  await answers(`SELECT RAW COUNT(*) FROM ${lists} GROUP BY v, v[0]`, [2, 1]);
});

test('a subquery gets other results for an array with MISSING than for one with NULL', async () => {
  const inner = '(SELECT RAW ARRAY_COUNT(ARRAY x FOR x IN v WHEN x IS NULL END))';
  await answers(`SELECT RAW ${inner} FROM [[MISSING], [NULL]] AS v`, [[0], [0]]);
  await answers('SELECT RAW (SELECT RAW v[0] IS NULL) FROM [[MISSING], [NULL]] AS v', [[null], [true]]);
});

test('in a join, an array that contains MISSING or NULL equals no other array', async () => {
  for (const [left, right] of [
    ['MISSING', 'NULL'],
    ['NULL', 'NULL'],
  ])
    await answers(`SELECT 1 FROM [[${left}]] AS v JOIN [[${right}]] AS w ON v = w`, []);
});
