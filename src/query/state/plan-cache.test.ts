import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PreparedStatement } from '#sqlpp/run/engine.ts';
import { PlanCache } from './plan-cache.ts';

/** A cache with a planner that reads the parameters in `parametersRead`. */
function planner(
  parametersRead: readonly (string | number)[] = [],
  kind: PreparedStatement['kind'] = 'SELECT',
) {
  const cache = new PlanCache();
  let compiled = 0;
  /** Requests the plan of a statement. Returns how often the planner was called for it. */
  const ask = (
    text: string,
    { revision = 1, context = '', scans = true, statistics = true, named = {}, args = [] as number[] } = {},
  ) => {
    const before = compiled;
    cache.planOf(
      { text, queryContext: context, sequentialScans: scans, usesStatistics: statistics },
      revision,
      { named: new Map(Object.entries(named)), positional: args },
      (onParameterRead) => {
        compiled++;
        for (const parameter of parametersRead) onParameterRead(parameter);
        return { kind } as PreparedStatement;
      },
    );
    return compiled - before;
  };
  return { cache, ask };
}

test('a plan is cached when its statement is sent the second time', () => {
  const { ask, cache } = planner();
  assert.deepEqual([ask('a'), ask('a'), ask('a'), ask('a')], [1, 1, 0, 0]);
  assert.equal(cache.size, 1);
});

test('a change of definitions, query context or settings needs another plan', () => {
  const { ask } = planner();
  for (let round = 0; round < 3; round++) ask('a');
  assert.equal(ask('a', { context: 'default:b.s' }), 1);
  assert.equal(ask('a', { scans: false }), 1);
  assert.equal(ask('a', { statistics: false }), 1);
  assert.equal(ask('a'), 0);
  assert.equal(ask('a', { revision: 2 }), 1);
});

test('a plan is used again only with equal values of the parameters that the planner read', () => {
  const { ask } = planner(['p', 2]);
  const values = { named: { p: 'x%', other: 1 }, args: [1, 2] };
  for (let round = 0; round < 3; round++) ask('a', values);
  assert.equal(ask('a', { named: { p: 'x%', other: 5 }, args: [7, 2, 9] }), 0);
  assert.equal(ask('a', { ...values, named: { p: '%x' } }), 1);
  assert.equal(ask('a', values), 1);
  assert.equal(ask('a', { ...values, args: [1, 3] }), 1);
  assert.equal(ask('a', { ...values, args: [1] }), 1);
  assert.equal(ask('a', { ...values, named: {} }), 1);
});

test('the cache limits the number of plans and the lengths of texts and values, and holds only statements on documents', () => {
  const { ask, cache } = planner(['p']);
  const prefix = 'x'.repeat(10);
  for (let index = 0; index < 600; index++) for (let round = 0; round < 2; round++) ask(`${prefix} ${index}`);
  assert.equal(cache.size, 256);
  assert.equal(ask(`${prefix} 599`), 0);
  assert.equal(ask(`${prefix} 0`), 1);
  const long = 'x'.repeat(5_000);
  for (let round = 0; round < 3; round++) assert.equal(ask(long), 1);
  for (let round = 0; round < 3; round++) assert.equal(ask('b', { named: { p: long } }), 1);
  const other = planner([], 'EXPLAIN');
  for (let round = 0; round < 3; round++) assert.equal(other.ask('a'), 1);
});
