import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

/** Array keys whose variables have names that the predicate has for others. */
const cases = [
  {
    title: 'an inner ANY',
    document: { a: [{ v: 5, b: [{ v: 7 }] }] },
    key: 'DISTINCT ARRAY (DISTINCT ARRAY z.v FOR z IN y.b END) FOR y IN a END',
    predicate: 'ANY x IN a SATISFIES (ANY y IN x.b SATISFIES x.v = 5 END) END',
  },
  {
    title: 'an inner ANY, where the key has a condition',
    document: { a: [{ t: 1, b: [{ t: 2, v: 5 }] }] },
    key: 'DISTINCT ARRAY (DISTINCT ARRAY z.v FOR z IN y.b WHEN z.t = 1 END) FOR y IN a END',
    predicate: 'ANY x IN a SATISFIES (ANY y IN x.b SATISFIES x.t = 1 AND y.v = 5 END) END',
  },
  {
    title: 'positions',
    document: { a: [7, 8] },
    key: 'DISTINCT ARRAY x FOR x IN a END',
    predicate: 'ANY x:item IN a SATISFIES x = 1 END',
  },
];

for (const { title, document, key, predicate } of cases)
  test(`ranges of an array key are right where its variable has the name of one of ${title}`, async () => {
    const datastore = new MemoryDatastore();
    datastore.put(datastore.add('t'), 'k', document);
    const statement = `SELECT RAW META().id FROM t WHERE ${predicate}`;
    assert.deepEqual(await query(datastore, statement), ['k']);
    await query(datastore, `CREATE INDEX i ON t(${key})`);
    assert.deepEqual(await query(datastore, statement), ['k']);
  });

test('an ANY within another uses a nested array key, whatever the names of its variables are', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  datastore.put(t, 'k', { a: [{ b: [{ v: 5 }] }] });
  datastore.put(t, 'other', { a: [{ b: [{ v: 6 }] }] });
  await query(
    datastore,
    'CREATE INDEX i ON t(DISTINCT ARRAY (DISTINCT ARRAY z.v FOR z IN y.b END) FOR y IN a END)',
  );
  const statement =
    'SELECT RAW META().id FROM t WHERE ANY z IN a SATISFIES (ANY y IN z.b SATISFIES y.v = 5 END) END';
  const { explain } = prepareOn(datastore, statement, { sequentialScans: false });
  assert.match(JSON.stringify(explain), /"index":"i".*"low":"5"/);
  assert.deepEqual(await query(datastore, statement), ['k']);
});
