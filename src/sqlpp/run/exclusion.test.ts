// EXCLUDE and the star of a projection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { outOfRange } from '../../../test/support/sql-errors.ts';

const run = (text: string): Promise<unknown[]> => query(new MemoryDatastore(), text);

test('EXCLUDE removes members and parts of members, and ignores what a row does not have', async () => {
  const row = '[{"a": {"b": 1, "c": {"d": 2, "e": 3}}, "f": [1], "g": 4}] AS t';
  for (const [paths, rest] of [
    ['g', { a: { b: 1, c: { d: 2, e: 3 } }, f: [1] }],
    ['a.b, a.c.d, f', { a: { c: { e: 3 } }, g: 4 }],
    ['a.c.d, a.c, a.c.e', { a: { b: 1 }, f: [1], g: 4 }],
    ['a.c, a', { f: [1], g: 4 }],
    ['f.x, g.x, x.y', { a: { b: 1, c: { d: 2, e: 3 } }, f: [1], g: 4 }],
  ] as const)
    assert.deepEqual(await run(`SELECT t.* EXCLUDE ${paths} FROM ${row}`), [rest], paths);
});

test('EXCLUDE visits a number of members that does not grow with the product of the numbers of its paths and of members', async (t) => {
  const names = Array.from({ length: 4_000 }, (_, at) => `m${at}`);
  const object = `{${names.map((name) => `"${name}": 1`).join()}, "last": 2}`;
  const { keys } = Object;
  let listed = 0;
  t.mock.method(Object, 'keys', (of: object) => {
    const found = keys(of);
    listed += found.length;
    return found;
  });
  assert.deepEqual(await run(`SELECT t.* EXCLUDE ${names.join()} FROM [${object}] AS t`), [{ last: 2 }]);
  assert.ok(listed >= names.length && listed < 100 * names.length, `${listed} names`);
});

test('very many stars of a large object are refused', async () => {
  const object = 'OBJECT TO_STRING(v):v FOR v IN ARRAY_RANGE(0, 30000) END';
  const stars = Array<string>(1_000).fill('t.*').join();
  await assert.rejects(run(`SELECT ${stars} FROM [${object}] AS t`), outOfRange);
});
