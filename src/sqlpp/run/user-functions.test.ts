import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('a namespace without a scope names the global function, whatever the query context has', async () => {
  const bodyOf = (path: readonly string[]) => (path.join('.') === '..f' ? '"global"' : '"of the scope"');
  const found = { parameters: [], isVariadic: false, language: 'inline' } as const;
  const userFunctions = { find: (path: readonly string[]) => ({ ...found, body: bodyOf(path) }) };
  const rows = await query(new MemoryDatastore(), 'SELECT RAW [f(), default:f(), f()]', { userFunctions });
  assert.deepEqual(rows, [['of the scope', 'global', 'of the scope']]);
});
