import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sortedAtOnce } from '#base/sort-steps.ts';
import { contextOf, prepareOn } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { sortedInChunks } from './chunked-sort.ts';

/** Items with few different keys in no order. */
const itemsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ key: (at * 7_919) % 101, at }));

test('any number of items is sorted as by Array.sort', async () => {
  const run = { yieldIfDue: () => undefined };
  const compare = (a: { key: number }, b: { key: number }): number => a.key - b.key;
  for (const count of [0, 1, 100, sortedAtOnce, sortedAtOnce + 1, 3 * sortedAtOnce, 5 * sortedAtOnce + 17]) {
    const items = itemsOf(count);
    assert.deepEqual(await sortedInChunks(run, items, compare), items.toSorted(compare), `${count} items`);
  }
});

test('the clock is read between the chunks that are sorted and merged', async () => {
  let reads = 0;
  await sortedInChunks(
    { yieldIfDue: () => void reads++ },
    itemsOf(8 * sortedAtOnce),
    (a, b) => a.key - b.key,
  );
  // Eight chunks, and three rounds of merges over all of them, of which each merge may end within a chunk.
  assert.ok(reads >= 8 + 3 * 8 - 7, `${reads} reads`);
});

test('a window sorts its partitions in chunks', async () => {
  const clockReads = async (over: string): Promise<number> => {
    let reads = 0;
    const monotonicMs = (): number => {
      reads++;
      return 0;
    };
    const statement = `SELECT ROW_NUMBER() OVER (${over}) AS w FROM ARRAY_RANGE(0, 30000) v`;
    const prepared = prepareOn(new MemoryDatastore(), statement);
    const context = { ...contextOf(new MemoryDatastore()), monotonicMs };
    for await (const rows of prepared.program.run(prepared, context).rows) assert.ok(rows.length > 0);
    return reads;
  };
  const difference = (await clockReads('ORDER BY v % 101')) - (await clockReads(''));
  assert.ok(difference >= 30_000 / sortedAtOnce, `${difference} reads`);
});
