// Frames of window functions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';

const values: readonly (number | null)[] = [null, 1, 2, 4, 5, null];

/** The values of each row's frame in ascending order; the rows have the order of the window. */
async function frames(order: string, frame: string): Promise<unknown[]> {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const [at, o] of values.entries()) datastore.put(t, `k${at}`, { o });
  const window = `ORDER BY t.o ${order} ${frame}`;
  return query(datastore, `SELECT RAW ARRAY_AGG(t.o) OVER (${window}) FROM t ORDER BY t.o ${order}`);
}

test('a range of values has only numbers within its distance, wherever NULLS FIRST or LAST puts the NULLs', async () => {
  const near = 'RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING';
  const nulls = [
    [null, null],
    [null, null],
  ];
  const ascending = [
    [1, 2],
    [1, 2],
    [4, 5],
    [4, 5],
  ];
  const descending = [
    [4, 5],
    [4, 5],
    [1, 2],
    [1, 2],
  ];
  for (const order of ['', 'NULLS FIRST'])
    assert.deepEqual(await frames(order, near), [...nulls, ...ascending]);
  assert.deepEqual(await frames('NULLS LAST', near), [...ascending, ...nulls]);
  for (const order of ['DESC', 'DESC NULLS LAST'])
    assert.deepEqual(await frames(order, near), [...descending, ...nulls]);
  assert.deepEqual(await frames('DESC NULLS FIRST', near), [...nulls, ...descending]);
});

test('an unbounded RANGE frame contains the NULLs after its numbers, also if it contains no number', async () => {
  const following = 'RANGE BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING';
  const absent = [null, null];
  assert.deepEqual(await frames('NULLS LAST', following), [
    [...absent, 4, 5],
    [...absent, 4, 5],
    absent,
    absent,
    absent,
    absent,
  ]);
  assert.deepEqual(await frames('DESC NULLS FIRST', 'RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING'), [
    absent,
    absent,
    absent,
    absent,
    [...absent, 4, 5],
    [...absent, 4, 5],
  ]);
});

test('frames of groups and of values are those that a comparison of all rows finds', async () => {
  const list = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5];
  const sorted = list.toSorted((a, b) => a - b);
  const groups = [...new Set(sorted)];
  const groupOf = (value: number): number => groups.indexOf(value);
  const countsInFrame = (frame: string, direction = ''): Promise<unknown[]> =>
    query(
      new MemoryDatastore(),
      `SELECT RAW w FROM (SELECT v, COUNT(1) OVER (ORDER BY v ${direction} ${frame}) AS w FROM ${JSON.stringify(list)} v) s ORDER BY s.v`,
    );
  const counts = (isIn: (value: number, other: number) => boolean): number[] =>
    sorted.map((value) => sorted.filter((other) => isIn(value, other)).length);
  const near = counts((value, other) => other >= value - 1 && other <= value + 2);
  assert.deepEqual(await countsInFrame('RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING'), near);
  assert.deepEqual(await countsInFrame('RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING', 'DESC'), near);
  const beside = counts(
    (value, other) => groupOf(other) >= groupOf(value) - 1 && groupOf(other) <= groupOf(value) + 1,
  );
  assert.deepEqual(await countsInFrame('GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING'), beside);
  const later = counts((value, other) => groupOf(other) >= groupOf(value) + 3);
  assert.deepEqual(await countsInFrame('GROUPS BETWEEN 3 FOLLOWING AND UNBOUNDED FOLLOWING'), later);
});

test('a range of values follows a direction that is a parameter', async () => {
  const countsInRange = (direction: string, named = new Map<string, string>()): Promise<unknown[]> =>
    query(
      new MemoryDatastore(),
      `SELECT RAW w FROM (SELECT v, COUNT(1) OVER (ORDER BY v ${direction} RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS w FROM [1, 2, 3, 5, 6] v) s ORDER BY s.v`,
      { named },
    );
  for (const direction of ['desc', 'asc'])
    assert.deepEqual(
      await countsInRange('$d', new Map([['d', direction]])),
      await countsInRange(direction),
      direction,
    );
});

test('the distance of a frame may be a value of WITH or of the outer query, not one of its rows', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (const o of [1, 2, 3]) datastore.put(t, `k${o}`, { o });
  const sums = (of: string, distance: string) =>
    `SELECT RAW SUM(x.o) OVER (ORDER BY x.o ROWS ${distance} PRECEDING) FROM ${of} AS x ORDER BY x.o`;
  assert.deepEqual(await query(datastore, `WITH one AS (1) ${sums('t', 'one')}`), [1, 3, 5]);
  assert.deepEqual(await query(datastore, sums('t', '(SELECT RAW 1)[0]')), [1, 3, 5]);
  const outer = `SELECT RAW (${sums('[{"o": 1}, {"o": 2}]', 't.o - 1')}) FROM t ORDER BY t.o`;
  assert.deepEqual(await query(datastore, outer), [
    [1, 2],
    [1, 3],
    [1, 3],
  ]);
  for (const distance of ['x.o', 'x.o + 1'])
    await assert.rejects(query(datastore, sums('t', distance)), { code: 3220 }, distance);
});
