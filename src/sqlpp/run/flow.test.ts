import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('an inner UNNEST leaves out MISSING elements, an outer one keeps them', async () => {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'a', { items: [{ x: 1 }, { y: 2 }, { x: null }] });
  const elements = (from: string) => query(datastore, `SELECT e, UNNEST_POS(e) AS place FROM t ${from} AS e`);
  const present = [
    { e: 1, place: 0 },
    { e: null, place: 2 },
  ];
  assert.deepEqual(await elements('UNNEST t.items[*].x'), present);
  assert.deepEqual(await elements('UNNEST [t.items[0].x, t.none, NULL]'), present);
  assert.deepEqual(await elements('LEFT UNNEST t.items[*].x'), [present[0], { place: 1 }, present[1]]);
  assert.deepEqual(await elements('UNNEST [t.none]'), []);
  // Literals are kept, as published.
  assert.deepEqual(await elements('UNNEST [MISSING, 1]'), [{ place: 0 }, { e: 1, place: 1 }]);
});
