// Values that window functions take from other rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { SqlError } from '../errors/sql-error.ts';

const rows = '[{"k": 0}, {"k": 1, "a": null}, {"k": 2, "a": 5}, {"k": 3}] AS t';

const ofRows = (call: string, frame = ''): Promise<unknown[]> =>
  query(
    new MemoryDatastore(),
    `SELECT RAW IFMISSING(w, "missing") FROM (SELECT t.k, ${call} OVER (ORDER BY t.k ${frame}) AS w FROM ${rows}) AS s ORDER BY s.k`,
  );

test('a row of the frame without the value gives MISSING, a frame without the row NULL', async () => {
  const missing = 'missing';
  assert.deepEqual(await ofRows('FIRST_VALUE(t.a)'), [missing, missing, missing, missing]);
  assert.deepEqual(await ofRows('LAST_VALUE(t.a)'), [missing, null, 5, missing]);
  assert.deepEqual(await ofRows('NTH_VALUE(t.a, 2) FROM LAST'), [null, missing, null, 5]);
  const before = 'ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING';
  assert.deepEqual(await ofRows('LAST_VALUE(t.a)', before), [null, missing, null, 5]);
  assert.deepEqual(await ofRows('FIRST_VALUE(t.a) IGNORE NULLS'), [null, null, 5, 5]);
});

test('LAG and LEAD refuse an offset of 0, NTILE less than one group', async () => {
  for (const call of ['LAG(t.a, 0)', 'LEAD(t.a, 0)', 'NTILE(0)', 'NTILE(0.5)', 'NTILE(-1)'])
    await assert.rejects(ofRows(call), (error) => error instanceof SqlError && error.code === 5340, call);
});

test('NTILE uses the whole part of its argument, of the first row', async () => {
  assert.deepEqual(await ofRows('NTILE(t.k + 2)'), [1, 1, 2, 2]);
  assert.deepEqual(await ofRows('NTILE(2.9)'), [1, 1, 2, 2]);
  assert.deepEqual(await ofRows('NTILE(null)'), [null, null, null, null]);
});
