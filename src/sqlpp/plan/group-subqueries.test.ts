import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

const rowsOf = (statement: string) => query(new MemoryDatastore(), statement);
const documents = '[{"k": 1, "v": 2}, {"k": 1, "v": 5}, {"k": 3, "v": 4}] AS d';

test('subqueries read the alias of a group key in the result, LETTING, HAVING, ORDER BY and aggregates', async () => {
  const grouped = `FROM ${documents} GROUP BY d.k AS g`;
  const read = '(SELECT RAW q FROM [g] AS q)[0]';
  const keys = [{ g: 1 }, { g: 3 }];
  assert.deepEqual(await rowsOf(`SELECT ${read} AS g ${grouped} ORDER BY g`), keys);
  assert.deepEqual(await rowsOf(`SELECT g ${grouped} LETTING m = ${read} HAVING m > 1`), [{ g: 3 }]);
  assert.deepEqual(await rowsOf(`SELECT g ${grouped} HAVING ${read} = 1`), [{ g: 1 }]);
  assert.deepEqual(await rowsOf(`SELECT g ${grouped} ORDER BY ${read} DESC`), keys.toReversed());
  assert.deepEqual(await rowsOf(`SELECT RAW SUM(${read}) ${grouped} ORDER BY g`), [2, 3]);
});

test('a subquery within a subquery reads the alias of a group key', async () => {
  const statement = `SELECT RAW (SELECT RAW (SELECT RAW g + q + p FROM [1] AS p)[0] FROM [10] AS q)[0] FROM ${documents} GROUP BY d.k AS g ORDER BY g`;
  assert.deepEqual(await rowsOf(statement), [12, 14]);
});

test('subqueries in ORDER BY read aliases of results that are expressions, aggregates and window functions', async () => {
  const sorted = (result: string) =>
    rowsOf(
      `SELECT ${result} AS r FROM ${documents} GROUP BY d.k ORDER BY (SELECT RAW q FROM [r] AS q)[0] DESC`,
    );
  assert.deepEqual(await sorted('d.k + 1'), [{ r: 4 }, { r: 2 }]);
  assert.deepEqual(await sorted('SUM(d.v)'), [{ r: 7 }, { r: 4 }]);
  assert.deepEqual(await sorted('RANK() OVER (ORDER BY d.k)'), [{ r: 2 }, { r: 1 }]);
});

test('a subquery reads an alias and a variable whose name is the number of a slot', async () => {
  const rows = ['#0', '#1', '#2'].map((name) =>
    rowsOf(
      `SELECT RAW ARRAY (SELECT RAW [x, \`${name}\`] FROM [0] AS q)[0] FOR \`${name}\` IN [1] END FROM [2] AS x`,
    ),
  );
  for (const row of await Promise.all(rows)) assert.deepEqual(row, [[[2, 1]]]);
});
