// Rows that are evaluated again, once for each result of a function that is asynchronous.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { memoryQuotaExceeded } from '../../../test/support/sql-errors.ts';
import type { Value } from '../values/value.ts';
import type { ExecuteContext, PrepareContext } from './engine.ts';

const userFunctions: NonNullable<PrepareContext['userFunctions']> = {
  find: ([name = '']) => {
    const body = { identity: '(SELECT RAW x)[0]', wrapped: 'f(x)' }[name];
    return body === undefined
      ? { parameters: ['x'], isVariadic: false, language: 'javascript', body: 'f' }
      : { parameters: ['x'], isVariadic: false, language: 'inline', body };
  },
};

/** The rows of a statement, with another random value, UUID and time for each evaluation, and the values with which f() was called. */
async function run(statement: string, given: Partial<ExecuteContext> = {}) {
  const datastore = new MemoryDatastore();
  const calls: Value[] = [];
  let drawn = 0;
  const call = async (_: unknown, [value]: readonly Value[]) => {
    // More calls than any test needs: without this limit a fault could repeat a row without end.
    if (calls.push(value) > 20_000) throw new Error('too many calls');
    return value;
  };
  const context: ExecuteContext = {
    ...contextOf(datastore),
    random: () => ++drawn,
    uuid: () => `${++drawn}`,
    clockMs: () => ++drawn,
    userFunctions: { ...userFunctions, call },
    ...given,
  };
  const prepared = prepareOn(datastore, statement, { userFunctions });
  const rows: Value[] = [];
  for await (const batch of prepared.program.run(prepared, context).rows) rows.push(...batch);
  return { rows, calls };
}

test('a row that waits for a call has the same random values, UUIDs and times when it is evaluated again', async () => {
  for (const drawing of ['RANDOM()', 'UUID()', 'CLOCK_MILLIS()', 'CLOCK_STR()']) {
    const { rows, calls } = await run(`SELECT RAW f(${drawing})`);
    assert.deepEqual(rows, calls, drawing);
    assert.equal(calls.length, 1, drawing);
  }
  assert.deepEqual(await run('SELECT RAW [RANDOM(), f(RANDOM()), f(f(RANDOM()) + RANDOM()), RANDOM()]'), {
    rows: [[1, 2, 7, 5]],
    calls: [2, 3, 7],
  });
});

test('each row has random values of its own, also after one that waited', async () => {
  const { rows } = await run(
    'SELECT RAW [v, RANDOM(), CASE WHEN v < 2 THEN f(RANDOM()) END] FROM [1, 2, 1, 2] v',
  );
  assert.deepEqual(rows, [
    [1, 1, 2],
    [2, 3, null],
    [1, 4, 5],
    [2, 6, null],
  ]);
});

test('a subquery or an inline function with a random value is not repeated without end, and its rows have values of their own', async () => {
  assert.deepEqual((await run('SELECT RAW identity(RANDOM())')).rows, [1]);
  const { rows } = await run('SELECT RAW [RANDOM(), (SELECT RAW f(RANDOM()) FROM [1, 2] v), f(RANDOM())]');
  assert.deepEqual(rows, [[1, [2, 3], 4]]);
});

test('the calls of one row are limited', async () => {
  let users = 0;
  const serviceCall = () => `${++users}`;
  await assert.rejects(
    run('SELECT f(CURRENT_USERS())', { serviceCall }),
    /one row makes more than 10000 calls/,
  );
});

test('a row may need any number of different subqueries, also in loops within each other', async () => {
  const count = 10_500;
  const { rows } = await run(
    `SELECT RAW ARRAY_SUM(ARRAY (SELECT RAW x)[0] FOR x IN ARRAY_RANGE(0, ${count}) END)`,
  );
  assert.deepEqual(rows, [(count * (count - 1)) / 2]);
  const nested = await run(
    `SELECT RAW ARRAY_SUM(ARRAY_FLATTEN(ARRAY (ARRAY (SELECT RAW x * 200 + y + (SELECT RAW 0 * y)[0])[0] FOR y IN ARRAY_RANGE(0, 200) END)
     FOR x IN ARRAY_RANGE(0, 52) END, 1)) FROM [1] v`,
  );
  assert.deepEqual(nested.rows, [(10_400 * 10_399) / 2]);
});

test('a loop that looks ahead for subqueries returns the same as one that does not, and runs at most twice as many', async () => {
  let subqueries = 0;
  const serviceCall = () => `${++subqueries}`;
  const found = await run(
    'SELECT RAW FIRST x FOR x IN ARRAY_RANGE(0, 20000) WHEN (SELECT RAW x + LENGTH(CURRENT_USERS()) * 0)[0] >= 100 END',
    { serviceCall },
  );
  assert.deepEqual(found.rows, [100]);
  assert.ok(subqueries > 101 && subqueries < 2 * 101 + 1, `${subqueries} subqueries`);
  const any =
    'ANY x IN [1, 2, 3, 4, 5] SATISFIES (SELECT RAW x = 3 LIMIT CASE WHEN x > 3 THEN "a" ELSE 1 END)[0] END';
  assert.deepEqual((await run(`SELECT RAW ${any}`)).rows, [true], 'the failing subqueries are not needed');
  await assert.rejects(run(`SELECT RAW ${any.replace('x = 3', 'x = 4')}`), /Invalid LIMIT/);
});

test('a loop does not look ahead for subqueries that call another server or a function in another language', async () => {
  const expected = Array.from({ length: 11 }, (_, at) => at);
  for (const call of [
    'f(x)',
    'wrapped(x)',
    '(SELECT RAW wrapped(x))[0]',
    'y FROM [x] z LET y = f(x)',
    'y FROM (SELECT f(x) AS y) z',
    'CURL(x)',
  ]) {
    const requests: Value[] = [];
    const curl = async ([value]: readonly Value[]) => {
      requests.push(value);
      return value;
    };
    const first = `FIRST x FOR x IN ARRAY_RANGE(0, 100) WHEN (SELECT RAW ${call})[0] >= 10 END`;
    const { rows, calls } = await run(`SELECT RAW [wrapped(0), ${first}]`, { curl });
    assert.deepEqual(rows, [[0, 10]], call);
    assert.deepEqual(call === 'CURL(x)' ? requests : calls.slice(1), expected, call);
  }
});

test('memory of a subquery that failed does not count if the loop did not need the subquery', async () => {
  const joined = `SELECT RAW x + z FROM [1] z JOIN ARRAY_RANGE(0, CASE WHEN x > 4 THEN 20000 ELSE 1 END) y ON y >= 0 LIMIT 1`;
  const any = (wanted: number) => `ANY x IN ARRAY_RANGE(1, 8) SATISFIES (${joined})[0] = ${wanted} END`;
  const given = { memoryQuotaBytes: 500_000 };
  const { rows } = await run(`SELECT RAW [${any(5)}, (SELECT RAW 1)[0]]`, given);
  assert.deepEqual(rows, [[true, 1]]);
  await assert.rejects(run(`SELECT RAW ${any(6)}`, given), memoryQuotaExceeded);
});
