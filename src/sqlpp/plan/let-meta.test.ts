import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

function twoDocuments(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const id of ['a', 'b']) datastore.put(t, id, { n: id });
  return datastore;
}

const ofDocuments: readonly [statement: string, rows: unknown[]][] = [
  ['SELECT META(z).id FROM t LET z = t ORDER BY META(z).id', [{ id: 'a' }, { id: 'b' }]],
  ['SELECT RAW META(y).id FROM t LET z = t, y = z WHERE META(y).id = "b"', ['b']],
  ['SELECT RAW (SELECT RAW META(y).id FROM [1] o LET y = z)[0] FROM t LET z = t WHERE z.n = "a"', ['a']],
  ['SELECT RAW (SELECT RAW META(z).id FROM [1] o)[0] FROM t LET z = t WHERE z.n = "a"', ['a']],
  ['SELECT RAW MIN(META(z).id) FROM t LET z = t', ['a']],
];

test('META() of a LET variable that is a document has the metadata of the document, in subqueries too', async () => {
  for (const [statement, rows] of ofDocuments)
    assert.deepEqual(await query(twoDocuments(), statement), rows, statement);
});

test('META() of a LET variable that is a field is NULL', async () =>
  assert.deepEqual(await query(twoDocuments(), 'SELECT RAW META(z) FROM t LET z = t.n LIMIT 1'), [null]));
