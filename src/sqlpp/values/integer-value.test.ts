import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

const large = '9007199254740993';

/** JSON texts of expressions' results; `none`: MISSING. */
async function assertResults(cases: Readonly<Record<string, string>>): Promise<void> {
  const datastore = new MemoryDatastore();
  for (const [expression, expected] of Object.entries(cases)) {
    const [row] = await query(datastore, `SELECT RAW TOSTRING(ENCODE_JSON({"x": ${expression}}))`);
    assert.equal(row, expected === 'none' ? '{}' : `{"x":${expected}}`, expression);
  }
}

test('positions beyond 2^53 are outside of any array', () =>
  assertResults({
    [`[1][${large}]`]: 'none',
    [`[1][-${large}]`]: 'none',
    '[1][POSINF()]': 'none',
    '[1][NAN()]': 'null',
    [`[1, 2][0:${large}]`]: 'none',
    [`[1, 2][-${large}:]`]: 'none',
    '[1, 2][0:1.5]': 'null',
    [`\`element\`([1], ${large})`]: 'none',
    [`\`slice\`([1], 0, ${large})`]: 'none',
    [`ARRAY_INSERT([1], ${large}, 2)`]: 'null',
  }));

test('counts beyond 2^53 mean all', () =>
  assertResults({
    [`SUBSTR("abc", 1, ${large})`]: '"bc"',
    [`REPLACE("aaa", "a", "b", ${large})`]: '"bbb"',
    [`REGEXP_REPLACE("aaa", "a", "b", ${large})`]: '"bbb"',
    [`ARRAY_REPLACE([1, 1], 1, 2, ${large})`]: '[2,2]',
    [`ARRAY_FLATTEN([[1], [[2]]], ${large})`]: '[1,2]',
    'ARRAY_FLATTEN([[1], [[2]]], -POSINF())': '[1,2]',
  }));

test('counts beyond 2^53 are refused where they make values', async () => {
  const datastore = new MemoryDatastore();
  for (const call of [`REPEAT("a", ${large})`, `LPAD("a", ${large})`, `ARRAY_REPEAT(1, ${large})`])
    await assert.rejects(query(datastore, `SELECT ${call}`), { code: 5035 }, call);
});

test('ARRAY_RANGE counts integers beyond 2^53, and refuses steps below the precision of its numbers', async () => {
  await assertResults({
    'ARRAY_RANGE(9007199254740992, 9007199254740995)': '[9007199254740992,9007199254740993,9007199254740994]',
    'ARRAY_RANGE(9007199254740994, 9007199254740992, -1)': '[9007199254740994,9007199254740993]',
    'ARRAY_RANGE(0, 1, 0.25)': '[0,0.25,0.5,0.75]',
    'ARRAY_RANGE(NAN(), 1)': '[]',
  });
  const range = 'SELECT ARRAY_RANGE(1e20, 1e20 + 100000)';
  await assert.rejects(query(new MemoryDatastore(), range), { code: 5035 });
});

test('NULL is not known to be among MISSING values', () =>
  assertResults({
    'NULL IN [MISSING]': 'none',
    'NULL NOT IN [MISSING]': 'none',
    'NULL WITHIN [MISSING]': 'none',
    'NULL IN [MISSING, 1]': 'null',
    'NULL IN []': 'false',
  }));

test('window functions count in integers beyond 2^53', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  datastore.put(t, 'a', '{"n": -9007199254740993}');
  datastore.put(t, 'b', '{"n": -9007199254740991}');
  const column = async (call: string) => query(datastore, `SELECT RAW ${call} FROM t ORDER BY n`);
  const range = 'OVER (ORDER BY n RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING)';
  const following = 'OVER (ORDER BY n RANGE BETWEEN 0 FOLLOWING AND 2 FOLLOWING)';
  assert.deepEqual(await column(`COUNT(*) ${range}`), [1, 1]);
  assert.deepEqual(await column(`COUNT(*) ${following}`), [2, 1]);
  assert.deepEqual(await column(`COUNT(*) OVER (ORDER BY n ROWS ${large} PRECEDING)`), [1, 2]);
  assert.deepEqual(await column(`NTILE(${large}) OVER (ORDER BY n)`), [1, 2]);
  assert.deepEqual(await column(`LAG(n, ${large}, "none") OVER (ORDER BY n)`), ['none', 'none']);
  assert.deepEqual(await column(`NTH_VALUE(n, ${large}) OVER (ORDER BY n)`), [null, null]);
  assert.throws(() => prepareOn(datastore, 'SELECT LAG(n, 1.5) OVER (ORDER BY n) FROM t'), { code: 3220 });
});
