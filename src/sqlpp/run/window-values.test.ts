// Values that window functions take from other rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { memoryQuotaExceeded } from '../../../test/support/sql-errors.ts';
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

test('LAG and LEAD with IGNORE NULLS skip NULL and MISSING', async () => {
  const list = [null, 1, null, null, 2, 3, null];
  const valuesOf = (call: string): Promise<unknown[]> =>
    query(
      new MemoryDatastore(),
      `SELECT RAW w FROM (SELECT k, ${call} IGNORE NULLS OVER (ORDER BY k) AS w FROM [${JSON.stringify(list)}] l UNNEST l AS a LET k = UNNEST_POS(a)) s ORDER BY s.k`,
    );
  assert.deepEqual(await valuesOf('LAG(a)'), [null, null, 1, 1, 1, 2, 3]);
  assert.deepEqual(await valuesOf('LAG(a, 2)'), [null, null, null, null, null, 1, 2]);
  assert.deepEqual(await valuesOf('LEAD(a)'), [1, 2, 2, 2, 3, null, null]);
  assert.deepEqual(await valuesOf('LEAD(a, 2)'), [2, 3, 3, 3, null, null, null]);
});

test('the clock is read between the rows of a frame function, the more often the longer the frames are', async () => {
  const clockReads = async (call: string, count = 12_800, frame = ''): Promise<number> => {
    let reads = 0;
    const monotonicMs = (): number => {
      reads++;
      return 0;
    };
    const statement = `SELECT ${call} OVER (ORDER BY v ${frame}) AS w FROM ARRAY_RANGE(0, ${count}) v`;
    const prepared = prepareOn(new MemoryDatastore(), statement);
    const context = { ...contextOf(new MemoryDatastore()), monotonicMs };
    for await (const rows of prepared.program.run(prepared, context).rows) assert.ok(rows.length > 0);
    return reads;
  };
  const difference = (await clockReads('FIRST_VALUE(v)')) - (await clockReads('ROW_NUMBER()'));
  assert.ok(difference >= 12_800 / 64, `${difference} reads`);
  const others = 'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW';
  for (const call of ['SUM(v)', 'NTH_VALUE(v, 9999)'])
    assert.ok((await clockReads(call, 4_096, others)) >= 4_096, call);
  // The result for each row is computed from all values of its frame.
  const growing = 'RANGE BETWEEN UNBOUNDED PRECEDING AND 0 FOLLOWING';
  for (const [call, frame] of [
    ['ARRAY_AGG(v)', ''],
    ['ARRAY_AGG(v)', growing],
    ['MEDIAN(v)', growing],
    ['STDDEV(v)', growing],
  ] as const) {
    const more = (await clockReads(call, 1_500, frame)) - (await clockReads('SUM(v)', 1_500));
    assert.ok(more >= (1_500 * 1_500) / 2 / 8_192, `${call} ${frame}: ${more} reads`);
  }
  // Or from the result for the row before.
  const reads = await clockReads('SUM(v)', 1_500);
  const distinct = ['SUM(DISTINCT v)', 'MEDIAN(DISTINCT v)', 'VAR_POP(DISTINCT v)'];
  for (const call of [...distinct, 'MEDIAN(v)', 'STDDEV(v)', 'VARIANCE_SAMP(v)'])
    for (const unit of ['', 'ROWS UNBOUNDED PRECEDING', 'GROUPS BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING'])
      assert.equal(await clockReads(call, 1_500, unit), reads, `${call} ${unit}`);
});

test('aggregates over frames that grow from row to row are those of the rows so far', async () => {
  const values = Array.from({ length: 36 }, (_, at) =>
    at % 7 === 3 ? 'null' : at % 11 === 5 ? '9007199254740993' : `${(at * 37) % 17}${at % 2 ? '.5' : ''}`,
  );
  const from = `[[${values.join(', ')}]] l UNNEST l AS x`;
  const calls = ['SUM', 'AVG', 'COUNT', 'MEDIAN', 'STDDEV', 'STDDEV_POP', 'VAR_SAMP', 'ARRAY_AGG', 'MIN'];
  for (const [frame, shift] of [
    ['', 0],
    ['ROWS UNBOUNDED PRECEDING', 0],
    ['ROWS BETWEEN UNBOUNDED PRECEDING AND 3 PRECEDING', -3],
    ['ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING', 2],
    ['GROUPS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING', -2],
    ['RANGE BETWEEN UNBOUNDED PRECEDING AND 4 FOLLOWING', 4],
  ] as const)
    for (const argument of ['x', 'DISTINCT x']) {
      const listOf = (over: string) => calls.map((call) => `${call}(${argument})${over}`).join(', ');
      const [running, whole] = await Promise.all(
        [
          `SELECT RAW s.w FROM (SELECT k, [${listOf(` OVER (ORDER BY k ${frame})`)}] w FROM ${from} LET k = UNNEST_POS(x)) s ORDER BY s.k`,
          `SELECT RAW (SELECT RAW [${listOf('')}] FROM ${from} LET i = UNNEST_POS(x) WHERE i <= k + ${shift})[0] FROM ARRAY_RANGE(0, 36) k ORDER BY k`,
        ].map((statement) => query(new MemoryDatastore(), statement)),
      );
      assert.deepEqual(running, whole, `${frame} ${argument}`);
    }
});

test('the arrays of ARRAY_AGG over frames count as memory of the statement', async () => {
  const statement =
    'SELECT RAW SUM(ARRAY_LENGTH(a)) FROM (SELECT RAW ARRAY_AGG(v) OVER (ORDER BY v) FROM ARRAY_RANGE(0, 1000) v) a';
  const given = (memoryQuotaBytes: number) => query(new MemoryDatastore(), statement, { memoryQuotaBytes });
  await assert.rejects(given(2 << 20), memoryQuotaExceeded);
  assert.deepEqual(await given(8 << 20), [500_500]);
});
