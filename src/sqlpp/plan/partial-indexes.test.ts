import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { prepareStatement } from '../run/prepare.ts';

const documents = Array.from({ length: 12 }, (_, n) => ({ type: n % 2 === 0 ? 'a' : 'b', p: n - 3 }));

for (const [condition, predicate] of [
  ['p > 0', 'p > 0'],
  ['p = 5', 'p = 5'],
  ['p IN [1, 2, 5]', 'p IN [1, 2, 5]'],
  ['p IS NOT MISSING', 'p IS NOT MISSING'],
  ['p > 0', 'p > 0 AND p < 7'],
  ['type = "a" AND p > 0', 'type = "a" AND p > 0'],
  ['type = "a" AND p > 0', 'p > 0 AND type = "a" AND p < 7'],
] as const)
  test(`an index for ${condition} is used for ${predicate}, and returns the same rows as a scan without it`, async () => {
    const datastore = new MemoryDatastore();
    const keyspace = datastore.add('t');
    for (const [n, document] of documents.entries()) datastore.put(keyspace, `k${n}`, document);
    const statements = [
      `SELECT META().id, t.p FROM t WHERE ${predicate} ORDER BY p`,
      `SELECT RAW p FROM t WHERE ${predicate} ORDER BY p LIMIT 2 OFFSET 1`,
      `SELECT RAW COUNT(*) FROM t WHERE ${predicate}`,
    ];
    const rows = () => Promise.all(statements.map((text) => query(datastore, text)));
    const without = await rows();
    await query(datastore, `CREATE INDEX ipart ON t(p) WHERE ${condition}`);
    for (const text of statements)
      assert.match(
        JSON.stringify(prepareStatement(text, { datastore, sequentialScans: true }).explain),
        /"index":"ipart"/,
      );
    assert.deepEqual(await rows(), without);
  });

test('an index for a LIKE is not used for the same pattern with another escape character', async () => {
  const datastore = new MemoryDatastore();
  const keyspace = datastore.add('t');
  for (const s of ['x%', 'x!a']) datastore.put(keyspace, s, { s });
  await query(datastore, 'CREATE INDEX ipart ON t(s) WHERE s LIKE "x!%"');
  const rows = (predicate: string) => query(datastore, `SELECT RAW s FROM t WHERE s LIKE ${predicate}`);
  assert.deepEqual(await rows('"x!%"'), ['x!a']);
  assert.deepEqual(await rows('"x!%" ESCAPE "!"'), ['x%']);
});
