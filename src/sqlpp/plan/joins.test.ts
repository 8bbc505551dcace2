import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('without sequential scans a join by document key needs no index on its right side', () => {
  const datastore = new MemoryDatastore();
  for (const name of ['t', 'u']) datastore.add(name);
  const prepared = (join: string) => {
    const text = `SELECT * FROM t USE KEYS "t1" ${join}`;
    return JSON.stringify(prepareOn(datastore, text, { sequentialScans: false }).explain);
  };
  for (const join of ['JOIN', 'LEFT JOIN', 'NEST'])
    for (const condition of ['META(u).id = t.a', 't.b = META(u).id', 'META(u).id IN [t.a, t.b]'])
      assert.match(prepared(`${join} u ON ${condition}`), /"KeyScan"/);
  assert.throws(() => prepared('JOIN u ON u.v = t.a'), /No index available on keyspace `default`:`u`/);
});

test('a join by LIKE reads the index again for each escape character of the left side', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  datastore.put(t, 'none', { mark: '?' });
  datastore.put(t, 'exclamation', { mark: '!' });
  const u = datastore.add('u');
  for (const name of ['a%', 'a!b']) datastore.put(u, name, { name });
  const statement = 'SELECT t.mark, u.name FROM t JOIN u ON u.name LIKE "a!%" ESCAPE t.mark ORDER BY t.mark';
  const rows = [
    { mark: '!', name: 'a%' },
    { mark: '?', name: 'a!b' },
  ];
  assert.deepEqual(await query(datastore, statement), rows);
  await query(datastore, 'CREATE INDEX i ON u(name)');
  assert.match(JSON.stringify(prepareOn(datastore, statement).explain), /"index":"i"/);
  assert.deepEqual(await query(datastore, statement), rows);
});

test('LEFT NEST by document key gives an empty array for a row without a key', async () => {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'k', { a: 1 });
  datastore.add('u');
  for (const key of ['t.none', 't.a', 'NULL'])
    for (const id of ['META(us).id', 'META(us).id || ""'])
      assert.deepEqual(
        await query(datastore, `SELECT us FROM t LEFT NEST u AS us ON ${id} = ${key}`),
        [{ us: [] }],
        `${id} = ${key}`,
      );
});

test('rows that an outer join adds have the values of TYPE() and similar with a covering index as without', async () => {
  const datastore = new MemoryDatastore();
  const [t, u] = [datastore.add('t'), datastore.add('u')];
  datastore.put(t, 'matched', { v: 1 });
  datastore.put(t, 'alone', { v: 2 });
  datastore.put(u, 'u1', { v: 1, a: 'A' });
  const values = 'TYPE(u.a) AS type, IFMISSING(u.b, 0) AS b, LOWER(u.a) AS a, u.c';
  const joins = ['FROM t LEFT JOIN u ON u.v = t.v', 'FROM u RIGHT JOIN t ON u.v = t.v'];
  const statements = joins.map((from) => `SELECT ${values} ${from} ORDER BY t.v`);
  const rows = [
    { a: 'a', b: 0, type: 'string' },
    { b: 0, type: 'missing' },
  ];
  const condition = 'IFMISSING(c, "none") = "none"';
  for (const keys of ['v, TYPE(a), IFMISSING(b, 0), LOWER(a), c', 'v INCLUDE MISSING, TYPE(a), LOWER(a)']) {
    await query(datastore, `CREATE INDEX i ON u(${keys})`);
    for (const statement of statements) assert.deepEqual(await query(datastore, statement), rows, keys);
    await query(datastore, 'DROP INDEX u.i');
  }
  await query(datastore, `CREATE INDEX i ON u(v) WHERE ${condition}`);
  const partial = `SELECT IFMISSING(u.c, "none") AS c FROM t LEFT JOIN u ON u.v = t.v AND ${condition.replace('c', 'u.c')}`;
  assert.deepEqual(await query(datastore, partial), [{ c: 'none' }, { c: 'none' }]);
});

test('an index of fields and functions of them covers the right side of an outer join', async () => {
  const datastore = new MemoryDatastore();
  datastore.add('t');
  datastore.add('u');
  await query(datastore, 'CREATE INDEX i ON u(v, LOWER(a), b.c[0] + 1)');
  const { explain } = prepareOn(
    datastore,
    'SELECT LOWER(u.a) AS a, u.b.c[0] + 1 AS c FROM t LEFT JOIN u ON u.v = t.v',
  );
  assert.match(JSON.stringify(explain), /"covers"/);
});
