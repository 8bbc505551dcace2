import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

const rowsOf = (statement: string) => query(new MemoryDatastore(), statement);

test('a term of WITH is joined with itself', async () => {
  const pairs = (join: string) =>
    rowsOf(`WITH c AS ([1, 2]) SELECT c, d FROM c ${join} c AS d ON c < d ORDER BY c`);
  assert.deepEqual(await pairs('JOIN'), [{ c: 1, d: 2 }]);
  assert.deepEqual(await pairs('LEFT JOIN'), [{ c: 1, d: 2 }, { c: 2 }]);
  assert.deepEqual(await pairs('NEST'), [{ c: 1, d: [2] }]);
});

test('a subquery reads the term of WITH that FROM around it names without AS', async () => {
  assert.deepEqual(await rowsOf('WITH c AS ([1, 2]) SELECT RAW (SELECT RAW d + c FROM c AS d) FROM c'), [
    [2, 3],
    [3, 4],
  ]);
  assert.deepEqual(
    await rowsOf('WITH c AS ([1, 2]) SELECT RAW c FROM c WHERE c > (SELECT RAW MIN(c) FROM c)[0]'),
    [2],
  );
});

test('a path in FROM begins at the row whose alias is a term of WITH', async () => {
  const statement = 'WITH c AS ([{"l": [1, 2]}, {"l": [3]}]) SELECT RAW (SELECT RAW i FROM c.l AS i) FROM c';
  assert.deepEqual(await rowsOf(statement), [[1, 2], [3]]);
});

test('a term of WITH is joined with itself under different names only', async () => {
  await assert.rejects(rowsOf('WITH c AS ([1]) SELECT RAW c FROM c JOIN c ON true'), { code: 4020 });
});

test('the error of a keyspace without an index quotes each part of its name', () => {
  const datastore = new MemoryDatastore();
  datastore.add('a.b');
  datastore.add('a.b', 's', 'c');
  const refusal = (keyspace: string) => () =>
    prepareOn(datastore, `SELECT * FROM ${keyspace}`, { sequentialScans: false });
  assert.throws(refusal('`a.b`'), /CREATE PRIMARY INDEX ON `default`:`a.b` to/);
  assert.throws(refusal('`a.b`.s.c'), /CREATE PRIMARY INDEX ON `default`:`a.b`.`s`.`c` to/);
});
