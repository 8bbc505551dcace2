// Long statements are planned in steps, between which other requests run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareOn, runPrepared } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import type { PreparedStatement } from './engine.ts';
import { prepareSteps } from './prepare.ts';

function aStore(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < 5; at++) datastore.put(t, `k${at}`, { a: at });
  return datastore;
}

const times = (count: number, text: (at: number) => string, separator: string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join(separator);

test('a statement has steps for its phases, its many expressions and its subqueries, and its plan is the same as without pauses between them', async () => {
  for (const [statement, leastSteps] of [
    ['SELECT a FROM t ORDER BY a', 6],
    [`SELECT ${times(5000, (at) => `a + ${at} AS c${at}`, ', ')} FROM t ORDER BY a`, 25],
    [`SELECT ${times(5000, (at) => `SUM(f${at}) AS s${at}`, ', ')} FROM t GROUP BY a`, 35],
    [`SELECT a FROM t ORDER BY ${times(5000, (at) => `f${at}`, ', ')}`, 25],
    [
      `SELECT RAW a FROM t WHERE ${times(50, (at) => `EXISTS (SELECT 1 FROM t u WHERE u.a = t.a + ${at + 2})`, ' OR ')}`,
      50,
    ],
    [
      `UPDATE t SET ${times(30, (at) => `b${at} = (SELECT RAW COUNT(*) FROM t u WHERE u.a > ${at})[0]`, ', ')} RETURNING t`,
      30,
    ],
    [`EXPLAIN SELECT ${times(30, (at) => `(SELECT RAW ${at})`, ', ')}`, 30],
  ] as const) {
    const datastore = aStore();
    const steps = prepareSteps(statement, { datastore, sequentialScans: true });
    let count = 0;
    let prepared: PreparedStatement | undefined;
    while (prepared === undefined) {
      const step = steps.next();
      if (step.done) prepared = step.value;
      else count++;
    }
    assert.ok(count >= leastSteps, `${count} steps: ${statement.slice(0, 60)}`);
    const other = aStore();
    assert.deepEqual(
      await runPrepared(datastore, prepared),
      await runPrepared(other, prepareOn(other, statement)),
      statement.slice(0, 60),
    );
  }
});

test('planning a GROUP BY does not compare each of its keys with all other keys', (t) => {
  const count = 200;
  const keys = times(count, (at) => `f${at}`, ', ');
  // The texts by which expressions are compared contain their names as JSON.
  const named = t.mock.method(JSON, 'stringify');
  prepareOn(aStore(), `SELECT ${keys} FROM t GROUP BY ${keys}`);
  const names = named.mock.callCount();
  assert.ok(names >= count && names < 20 * count, `${names} names`);
});

test('planning a long INSERT soon stops trying to read its documents as JSON if they are expressions', () => {
  const documents = times(20_000, (at) => `("k${at}", {"a": ${at}, "b": 1 + 1})`, ', ');
  const { parse } = JSON;
  let tried = 0;
  JSON.parse = (...parameters: Parameters<typeof parse>): unknown => {
    tried++;
    return parse(...parameters);
  };
  try {
    prepareOn(aStore(), `INSERT INTO t VALUES ${documents}`);
  } finally {
    JSON.parse = parse;
  }
  assert.ok(tried < 100, `${tried} documents`);
});
