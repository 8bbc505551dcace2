import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('LIKE finds the same with an index, also with an escape character beyond U+FFFF', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const a of ['x😀z', 'x%z', 'x_z', 'xyz']) datastore.put(t, a, { a });
  for (const index of ['', 'CREATE INDEX i ON t(a)']) {
    if (index !== '') await query(datastore, index);
    for (const [pattern, rows] of [
      ['"x😀😀z" ESCAPE "😀"', ['x😀z']],
      ['"x😀%z" ESCAPE "😀"', ['x%z']],
      ['"x😀😀%" ESCAPE "😀"', ['x😀z']],
      ['"x%%z" ESCAPE "%"', ['x%z']],
    ] as const)
      assert.deepEqual(await query(datastore, `SELECT RAW a FROM t WHERE a LIKE ${pattern}`), rows, index);
  }
});
