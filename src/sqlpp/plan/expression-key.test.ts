import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('windows that differ only in the parameters of ORDER BY have different values', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const a of [1, 2]) datastore.put(t, `k${a}`, { a });
  const named = new Map([
    ['up', 'asc'],
    ['down', 'desc'],
  ]);
  const statement = `SELECT a, ROW_NUMBER() OVER (ORDER BY a $up) AS rising, ROW_NUMBER() OVER (ORDER BY a $down) AS falling
    FROM t ORDER BY a`;
  assert.deepEqual(await query(datastore, statement, { named }), [
    { a: 1, rising: 1, falling: 2 },
    { a: 2, rising: 2, falling: 1 },
  ]);
});
