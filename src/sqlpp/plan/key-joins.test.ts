import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareOn } from '../../../test/support/engine-run.ts';
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
