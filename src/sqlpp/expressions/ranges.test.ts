import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('a variable for the names of an object visits its members only, not what they contain', async () => {
  const object = '{"a": ARRAY_REPEAT(ARRAY_REPEAT(1, 32000), 32000)}';
  const statement = `SELECT RAW ANY k : v IN ${object} SATISFIES k = "a" END`;
  assert.deepEqual(await query(new MemoryDatastore(), statement), [true]);
});
