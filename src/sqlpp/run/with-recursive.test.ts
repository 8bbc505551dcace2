import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('a UNION in WITH RECURSIVE is evaluated once where only a constant, a field or a result has the name of the term', async () => {
  const rowsOf = (right: string) =>
    query(
      new MemoryDatastore(),
      `WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL ${right}) SELECT RAW r FROM r`,
    );
  assert.deepEqual(await rowsOf('SELECT "r" AS n'), [{ n: 1 }, { n: 'r' }]);
  assert.deepEqual(await rowsOf('SELECT 2 AS r'), [{ n: 1 }, { r: 2 }]);
  assert.deepEqual(await rowsOf('SELECT {"r": 3}.r AS n'), [{ n: 1 }, { n: 3 }]);
});

test('a UNION in WITH RECURSIVE is repeated where a subquery of its right side reads the term', async () => {
  const statement =
    'WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT x.n + 1 AS n FROM (SELECT r.n FROM r) x WHERE x.n < 3) SELECT RAW r.n FROM r';
  assert.deepEqual(await query(new MemoryDatastore(), statement), [1, 2, 3]);
});

test('a UNION in WITH RECURSIVE has rows once that answers show alike', async () => {
  const statement =
    'WITH RECURSIVE r AS (SELECT RAW [NULL] UNION SELECT RAW [MISSING] FROM r) SELECT RAW r FROM r';
  assert.deepEqual(await query(new MemoryDatastore(), statement), [[null]]);
});
