import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

test('FLATTEN_KEYS is refused unless it is the element of an array key', async () => {
  const datastore = new MemoryDatastore();
  datastore.add('t');
  const refuses = (key: string, code: number) =>
    assert.rejects(query(datastore, `CREATE INDEX i ON t(${key})`), { code }, key);
  for (const key of [
    'ALL ARRAY v FOR v IN list WHEN FLATTEN_KEYS(v) END',
    'ALL ARRAY FLATTEN_KEYS(v, FLATTEN_KEYS(v, v)) FOR v IN list END',
    'DISTINCT ARRAY [FLATTEN_KEYS(v)] FOR v IN list END',
    'ALL FLATTEN_KEYS(a, b)',
    'FLATTEN_KEYS(a, b)',
    'a) WHERE (FLATTEN_KEYS(a)',
  ])
    await refuses(key, 3283);
  await refuses('ALL ARRAY (ALL ARRAY FLATTEN_KEYS(v, w) FOR w IN v END) FOR v IN list END DESC', 3282);
});
