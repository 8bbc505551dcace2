import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

const answer = (statement: string) => query(new MemoryDatastore(), statement);

test('a RAW result that is MISSING is NULL in the list of a subquery and of a WITH term', async () => {
  const rows = 'SELECT RAW x.absent FROM [{"a": 1}] x';
  assert.deepEqual(await answer(`SELECT RAW (${rows})[0] IS NULL`), [true]);
  assert.deepEqual(await answer(`SELECT RAW ARRAY v IS NULL FOR v IN (${rows}) END`), [[true]]);
  assert.deepEqual(await answer(`WITH c AS (${rows}) SELECT RAW c IS NULL FROM c`), [true]);
});

test('a RAW result that is MISSING stays MISSING where FROM reads the rows of a subquery', async () => {
  assert.deepEqual(await answer('SELECT RAW y IS MISSING FROM (SELECT RAW x.absent FROM [{"a": 1}] x) y'), [
    true,
  ]);
});
