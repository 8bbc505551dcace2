import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

function withPrepareds(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  for (const name of ['a', 'b', 'c']) datastore.prepareds.set(name, { name });
  return datastore;
}

test('USE KEYS selects rows of the catalog, in the order of the keys', async () => {
  const datastore = withPrepareds();
  const names = (text: string) => query(datastore, text);
  assert.deepEqual(await names('SELECT RAW p.name FROM system:prepareds p USE KEYS ["c", "x", "a"]'), [
    'c',
    'a',
  ]);
  assert.deepEqual(await names('SELECT RAW name FROM system:prepareds USE KEYS "b"'), ['b']);
  assert.deepEqual(
    await names('SELECT RAW META().id FROM system:prepareds USE KEYS ["a", "b"] WHERE name > "a"'),
    ['b'],
  );
  assert.deepEqual(await names('SELECT RAW 1 FROM system:dual USE KEYS "x"'), []);
  const [plan] = await names('EXPLAIN SELECT * FROM system:prepareds USE KEYS "b"');
  assert.match(JSON.stringify(plan), /"KeyScan".*"Fetch"/);
});

test('a join by keys reads the catalog once', async () => {
  const datastore = withPrepareds();
  const keyspace = datastore.add('t');
  for (const [id, p] of Object.entries({ 1: 'b', 2: ['a', 'c'], 3: 'x' })) datastore.put(keyspace, id, { p });
  const joined =
    'SELECT META(t).id, p.name FROM t JOIN system:prepareds p ON KEYS t.p ORDER BY META(t).id, p.name';
  assert.deepEqual(await query(datastore, joined), [
    { id: '1', name: 'b' },
    { id: '2', name: 'a' },
    { id: '2', name: 'c' },
  ]);
  assert.equal(datastore.catalogScans, 1);
});

test('DELETE of rows of the catalog returns them', async () => {
  const datastore = withPrepareds();
  const text =
    'DELETE FROM system:prepareds p USE KEYS ["a", "a", "b"] WHERE name < "b" RETURNING p.name, META(p).id';
  assert.deepEqual(await query(datastore, text), [{ name: 'a', id: 'a' }]);
  assert.deepEqual([...datastore.prepareds.keys()], ['b', 'c']);
});

test('other changes of the catalog are refused', async () => {
  const datastore = withPrepareds();
  const statements = [
    'UPDATE system:prepareds SET name = "x"',
    'INSERT INTO system:prepareds VALUES ("d", {})',
    'UPSERT INTO system:prepareds VALUES ("d", {})',
    'MERGE INTO system:prepareds p USING [{"k": "a"}] s ON KEY s.k WHEN MATCHED THEN DELETE',
    'INSERT INTO system:prepareds (KEY n) SELECT name AS n FROM system:prepareds',
    'MERGE INTO system:prepareds p USING [{"k": "a"}] s ON p.name = s.k WHEN MATCHED THEN DELETE',
  ];
  for (const text of statements) await assert.rejects(query(datastore, text), { code: 11003 }, text);
});
