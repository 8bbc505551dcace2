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

test('an ANY within another ANY uses a nested array key, with variables of any names', async () => {
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

const pairs = [
  { k: 1, n: 9 },
  { k: 2, n: 1 },
];
const flattened = 'FLATTEN_KEYS(p.k, p.n) FOR p IN';

/** Two predicates, each of which is true for another element of the array. */
const differentElements = [
  {
    title: 'AND within OR',
    document: { a: pairs },
    key: `DISTINCT ARRAY ${flattened} a END`,
    from: `t WHERE (ANY p IN a SATISFIES p.k = 1 END AND ANY p IN a SATISFIES p.n = 1 END)
      OR (ANY p IN a SATISFIES p.k = 5 END AND ANY p IN a SATISFIES p.n = 7 END)`,
  },
  {
    title: 'two ANY within another',
    document: { a: [{ b: pairs }] },
    key: `DISTINCT ARRAY (DISTINCT ARRAY ${flattened} x.b END) FOR x IN a END`,
    from: `t WHERE ANY x IN a SATISFIES
      (ANY p IN x.b SATISFIES p.k = 1 END) AND (ANY p IN x.b SATISFIES p.n = 1 END) END`,
  },
  {
    title: 'two UNNEST',
    document: { a: pairs },
    key: `ALL ARRAY ${flattened} a END`,
    from: 't UNNEST t.a AS x UNNEST t.a AS y WHERE x.k = 1 AND y.n = 1',
  },
  {
    title: 'two UNNEST within another',
    document: { a: [{ b: pairs }] },
    key: `ALL ARRAY (ALL ARRAY ${flattened} x.b END) FOR x IN a END`,
    from: 't UNNEST t.a AS z UNNEST z.b AS x UNNEST z.b AS y WHERE x.k = 1 AND y.n = 1',
  },
];

for (const { title, document, key, from } of differentElements)
  test(`keys of FLATTEN_KEYS find documents where predicates are true for different elements: ${title}`, async () => {
    const datastore = new MemoryDatastore();
    datastore.put(datastore.add('t'), 'k', document);
    const statement = `SELECT RAW META(t).id FROM ${from}`;
    assert.deepEqual(await query(datastore, statement), ['k']);
    await query(datastore, `CREATE INDEX i ON t(${key})`);
    const { explain } = prepareOn(datastore, statement, { sequentialScans: false });
    assert.match(JSON.stringify(explain), /"index":"i"/);
    assert.deepEqual(await query(datastore, statement), ['k']);
  });

test('an index with a leading array key INCLUDE MISSING is used only where the array has an element', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  datastore.put(t, 'none', { b: 1 });
  datastore.put(t, 'empty', { a: [], b: 1 });
  datastore.put(t, 'half', { a: [{ n: 1 }], b: 1 });
  await query(
    datastore,
    'CREATE INDEX i ON t(DISTINCT ARRAY FLATTEN_KEYS(p.k INCLUDE MISSING, p.n) FOR p IN a END, b)',
  );
  const uses = (predicate: string): boolean => {
    const { explain } = prepareOn(datastore, `SELECT RAW META().id FROM t WHERE ${predicate}`);
    return JSON.stringify(explain).includes('"index":"i"');
  };
  const idsOf = async (predicate: string): Promise<unknown[]> =>
    (await query(datastore, `SELECT RAW META().id FROM t WHERE ${predicate}`)).sort();
  assert.equal(uses('b = 1'), false);
  assert.deepEqual(await idsOf('b = 1'), ['empty', 'half', 'none']);
  const ofElement = 'ANY p IN a SATISFIES p.n = 1 END AND b = 1';
  assert.equal(uses(ofElement), true);
  assert.deepEqual(await idsOf(ofElement), ['half']);
});
