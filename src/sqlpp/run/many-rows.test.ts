// Statements with more rows or characters than a JavaScript call can have arguments, or than memory can hold.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { memoryQuotaExceeded } from '../../../test/support/sql-errors.ts';

test('a step of WITH RECURSIVE has any number of rows', async () => {
  const statement = `
    WITH RECURSIVE r AS (
      SELECT RAW a FROM ARRAY_RANGE(0, 30000) a
      UNION ALL
      SELECT RAW -1 FROM r q UNNEST ARRAY_RANGE(0, 10) b WHERE q >= 0
    )
    SELECT RAW ARRAY_LENGTH(r)`;
  assert.deepEqual(await query(new MemoryDatastore(), statement), [330_000]);
});

test('the prefix of a LIKE pattern of an index scan has any length', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  const long = 'x'.repeat(300_000);
  datastore.put(t, 'long', { a: `${long}y` });
  datastore.put(t, 'short', { a: 'xy' });
  await query(datastore, 'CREATE INDEX i ON t(a)');
  const named = new Map([['pattern', `${long}%`]]);
  const statement = 'SELECT RAW META().id FROM t WHERE a LIKE $pattern';
  assert.deepEqual(await query(datastore, statement, { named }), ['long']);
});

test('rows of a subquery in an expression count as memory of the statement while they arrive', async () => {
  const tenMillionRows = 'ARRAY_RANGE(0, 1000) a UNNEST ARRAY_RANGE(0, 10000) b';
  const statement = `SELECT RAW ARRAY_LENGTH((SELECT RAW 1 FROM ${tenMillionRows}))`;
  let nowMs = 0;
  let pauses = 0;
  // The clock advances at each reading, so that the statement pauses often: 9,000 times up to the quota, 700,000 times for all rows.
  const pausesMax = 50_000;
  const prepared = prepareOn(new MemoryDatastore(), statement);
  const context = {
    ...contextOf(new MemoryDatastore(), { memoryQuotaBytes: 1 << 20 }),
    monotonicMs: () => nowMs++,
    pause: async () => {
      pauses++;
    },
  };
  await assert.rejects(
    prepared.program.run(prepared, context).rows[Symbol.asyncIterator]().next(),
    memoryQuotaExceeded,
  );
  assert.ok(pauses < pausesMax, `${pauses} pauses`);
});

test('the memory of WITH RECURSIVE counts until its query ends, and not until the statement does', async () => {
  /** The largest number of the recursion, from 1 to 100, and the row's `x` added. */
  const largestPlusX = (union: string) =>
    `(WITH RECURSIVE r AS (SELECT RAW 1 ${union} SELECT RAW v + 1 FROM r v WHERE v < 100) SELECT RAW MAX(v) + x FROM r v)[0]`;
  const sumOverRows = (union: string, rowCount: number, memoryQuotaBytes: number) =>
    query(
      new MemoryDatastore(),
      `SELECT RAW SUM(${largestPlusX(union)}) FROM ARRAY_RANGE(0, ${rowCount}) x`,
      {
        memoryQuotaBytes,
      },
    );
  for (const union of ['UNION', 'UNION ALL']) {
    assert.deepEqual(await sumOverRows(union, 60, 256 << 10), [60 * 100 + (59 * 60) / 2], union);
    await assert.rejects(sumOverRows(union, 1, 4_000), memoryQuotaExceeded, union);
  }
});

test('the ids of documents that a statement has had count as its memory', async () => {
  for (const statement of [
    'UPDATE t SET c = 1 WHERE a = 1 LIMIT 5000',
    'DELETE FROM t WHERE a = 1 LIMIT 5000',
    'SELECT RAW META().id FROM t WHERE a = 1 OR b = 2',
    'SELECT RAW META().id FROM t WHERE ANY x IN c SATISFIES x > 0 END',
  ]) {
    const datastore = new MemoryDatastore();
    const t = datastore.add('t');
    for (let at = 0; at < 5_000; at++) datastore.put(t, `key ${at}`, { a: 1, b: 2, c: [1, 2] });
    await query(datastore, 'CREATE INDEX ic ON t(ALL ARRAY x FOR x IN c END)');
    await query(datastore, 'CREATE INDEX ia ON t(a)');
    await query(datastore, 'CREATE INDEX ib ON t(b)');
    await assert.rejects(
      query(datastore, statement, { memoryQuotaBytes: 200_000 }),
      memoryQuotaExceeded,
      statement,
    );
    await query(datastore, statement, { memoryQuotaBytes: 1 << 20 });
  }
});

test('the keys of documents that MERGE has changed count as its memory', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < 5_000; at++) datastore.put(t, `key ${at}`, { a: 1 });
  const statement = 'MERGE INTO t USING t AS s ON KEY META(s).id WHEN MATCHED THEN UPDATE SET t.c = 1';
  const given = { spillBytes: 10_000 };
  await assert.rejects(
    query(datastore, statement, { ...given, memoryQuotaBytes: 200_000 }),
    memoryQuotaExceeded,
  );
  await query(datastore, statement, { ...given, memoryQuotaBytes: 1 << 20 });
});

test('the matches of one row count as memory of a join by keys, and of a NEST', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < 5_000; at++) datastore.put(t, `k${at}`, { a: at % 50 });
  await query(datastore, 'CREATE INDEX i ON t(a)');
  for (const [statement, count] of [
    ['SELECT RAW COUNT(*) FROM [1] l JOIN t ON KEYS ARRAY_REPEAT("k1", 30000)', 30_000],
    ['SELECT RAW ARRAY_LENGTH(n) FROM [10] l NEST t AS n ON n.a >= l', 4_000],
  ] as const) {
    await assert.rejects(
      query(datastore, statement, { memoryQuotaBytes: 200_000 }),
      memoryQuotaExceeded,
      statement,
    );
    assert.deepEqual(await query(datastore, statement, { memoryQuotaBytes: 16 << 20 }), [count]);
  }
});

test('a join by keys has the right rows of about a batch in memory, however many rows and keys there are', async () => {
  const datastore = new MemoryDatastore();
  datastore.put(datastore.add('t'), 'k', { a: 1 });
  const statement = 'SELECT RAW COUNT(*) FROM ARRAY_RANGE(0, 200) l JOIN t ON KEYS ARRAY_REPEAT("k", 100)';
  assert.deepEqual(await query(datastore, statement, { memoryQuotaBytes: 100_000 }), [20_000]);
});

test('the rows that a hash join makes of one row count as memory of the statement, until the next row', async () => {
  const datastore = new MemoryDatastore();
  const [t, u] = [datastore.add('t'), datastore.add('u')];
  for (let at = 0; at < 3; at++) datastore.put(t, `k${at}`, { a: 1 });
  for (let at = 0; at < 5_000; at++) datastore.put(u, `k${at}`, { a: 1, b: 'x'.repeat(50) });
  /** The least quota with which the join succeeds, in bytes, found in steps of 20,000. */
  const leastQuotaBytes = async (field: string): Promise<number> => {
    const statement = `SELECT RAW COUNT(*) FROM t JOIN u USE HASH(build) ON t.${field} = u.a`;
    for (let memoryQuotaBytes = 100_000; ; memoryQuotaBytes += 20_000) {
      const found = query(datastore, statement, { memoryQuotaBytes, spillBytes: 64 << 20 });
      const refused = await found.then(
        () => false,
        () => true,
      );
      if (!refused) return memoryQuotaBytes;
    }
  };
  // The rows of `t` have no field `none`, so that only the table of the right side counts.
  const rowsOfOneBytes = (await leastQuotaBytes('a')) - (await leastQuotaBytes('none'));
  const [rowBytesMin, rowBytesMax] = [32, 100];
  // Each row of `t` joins all rows of `u`. If the memory were not released before the next row of `t`, three times as much would count.
  assert.ok(rowsOfOneBytes > 5_000 * rowBytesMin, `${rowsOfOneBytes} bytes`);
  assert.ok(rowsOfOneBytes < 3 * 5_000 * rowBytesMax, `${rowsOfOneBytes} bytes`);
});
