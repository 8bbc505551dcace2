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
