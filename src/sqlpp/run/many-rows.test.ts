// Statements with more rows or characters than a JavaScript call can have arguments, or than memory can hold.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('a step of WITH RECURSIVE has any number of rows', async () => {
  const statement = `
    WITH RECURSIVE r AS (
      SELECT RAW a FROM ARRAY_RANGE(0, 30000) a
      UNION ALL
      SELECT RAW -1 FROM r q UNNEST ARRAY_RANGE(0, 10) b WHERE q >= 0
    )
    SELECT RAW ARRAY_LENGTH(r)`;
  assert.deepEqual(await query(new MemoryDatastore(), statement), [330_000]);
});

test('the prefix of a LIKE pattern of an index scan has any length', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  const long = 'x'.repeat(300_000);
  datastore.put(t, 'long', { a: `${long}y` });
  datastore.put(t, 'short', { a: 'xy' });
  await query(datastore, 'CREATE INDEX i ON t(a)');
  const named = new Map([['pattern', `${long}%`]]);
  const statement = 'SELECT RAW META().id FROM t WHERE a LIKE $pattern';
  assert.deepEqual(await query(datastore, statement, { named }), ['long']);
});

test('rows of a subquery in an expression count as memory of the statement while they arrive', async () => {
  const tenMillion = 'ARRAY_RANGE(0, 1000) a UNNEST ARRAY_RANGE(0, 10000) b';
  const statement = `SELECT RAW ARRAY_LENGTH((SELECT RAW 1 FROM ${tenMillion}))`;
  let nowMs = 0;
  let pauses = 0;
  const prepared = prepareOn(new MemoryDatastore(), statement);
  const context = {
    ...contextOf(new MemoryDatastore(), { memoryQuotaBytes: 1 << 20 }),
    monotonicMs: () => nowMs++,
    pause: async () => {
      pauses++;
    },
  };
  await assert.rejects(prepared.program.run(prepared, context).rows[Symbol.asyncIterator]().next(), {
    code: 5500,
  });
  assert.ok(pauses < 50_000, `${pauses} pauses`);
});
