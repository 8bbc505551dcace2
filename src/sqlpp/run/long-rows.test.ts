// A statement whose rows take long, as those of large documents do, yields between them, so that other requests do not wait for all of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import type { StoredDocument } from '../datastore/documents.ts';
import { jsonText } from '../values/json-text.ts';

const documentCount = 300;

function aStore(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  for (let at = 0; at < documentCount; at++) datastore.put(t, `k${at}`, { a: at });
  return datastore;
}

/**
 * Runs a statement with a clock that each call of `work` advances by ten milliseconds. `withWork` gets `work`, makes the statement call it, and
 * returns members that it adds to the statement's context. Returns the rows, and the most calls of `work` between two pauses.
 */
async function ranWith(
  datastore: MemoryDatastore,
  statement: string,
  withWork: (work: () => void) => object,
) {
  let nowMs = 0;
  let calls = 0;
  let mostCalls = 0;
  const work = (): void => {
    nowMs += 10;
    mostCalls = Math.max(mostCalls, ++calls);
  };
  const context = Object.defineProperties(
    {
      ...contextOf(datastore),
      monotonicMs: () => nowMs,
      pause: async () => {
        calls = 0;
      },
    },
    Object.getOwnPropertyDescriptors(withWork(work)),
  );
  const prepared = prepareOn(datastore, statement);
  const rows: unknown[] = [];
  for await (const batch of prepared.program.run(prepared, context).rows)
    for (const row of batch) rows.push(JSON.parse(jsonText(row)));
  return { rows, mostCalls };
}

test('a statement that reads large documents yields between them', async () => {
  const datastore = aStore();
  const { documents } = datastore;
  const { read, readNow } = documents;
  const keys = JSON.stringify(Array.from({ length: documentCount }, (_, at) => `k${at}`));
  const { rows, mostCalls } = await ranWith(datastore, `SELECT RAW a FROM t USE KEYS ${keys}`, (work) => {
    documents.readNow = (keyspace, ids, options, receive) =>
      readNow?.(keyspace, ids, options, (document, position) => {
        work();
        receive(document, position);
      }) ?? null;
    documents.read = (keyspace, ids, options) => {
      for (const _ of ids) work();
      return read(keyspace, ids, options);
    };
    return {};
  });
  assert.deepEqual(
    rows,
    Array.from({ length: documentCount }, (_, at) => at),
  );
  // A statement reads four documents before the first pause, and one between later ones, because these take long.
  assert.ok(mostCalls > 0 && mostCalls <= 4, `${mostCalls} documents without a pause`);
});

test('a statement that waits for documents of other nodes reads many at once, but few large ones', async () => {
  // Small ones: 4 + 8 + 16 + … reach the count with seven reads. Large ones: 4, then one or two, because two of them have 4 MiB.
  for (const [count, bytes, isExpected] of [
    [documentCount, 0, (reads: number) => reads < 12],
    [20, 2 << 20, (reads: number) => reads >= 8],
  ] as const) {
    const datastore = aStore();
    const { documents } = datastore;
    const { read } = documents;
    const keys = JSON.stringify(Array.from({ length: count }, (_, at) => `k${at}`));
    const large = Buffer.concat([Buffer.from('{"a":0}'), Buffer.alloc(bytes, ' ')]);
    let reads = 0;
    const { rows } = await ranWith(datastore, `SELECT RAW a FROM t USE KEYS ${keys}`, (work) => {
      documents.readNow = () => null;
      documents.read = async (keyspace, ids, options) => {
        reads++;
        await Promise.resolve();
        work();
        const found = await read(keyspace, ids, options);
        return found.map((document) => document && { ...document, bytes: large });
      };
      return {};
    });
    assert.equal(rows.length, count);
    assert.ok(isExpected(reads), `${reads} reads`);
  }
});

test('documents in memory are not copied to extract their fields', async () => {
  const datastore = aStore();
  const { documents } = datastore;
  const { read, readNow } = documents;
  const keys = JSON.stringify(Array.from({ length: documentCount }, (_, at) => `k${at}`));
  let copies = 0;
  const counted = (document: StoredDocument): StoredDocument => {
    const { bytes } = document;
    const place = document.place ?? { buffer: bytes, start: 0, end: bytes.length };
    return Object.defineProperty({ ...document, place }, 'bytes', {
      get() {
        copies++;
        return bytes;
      },
    });
  };
  const { rows } = await ranWith(datastore, `SELECT RAW a FROM t USE KEYS ${keys}`, () => {
    documents.readNow = (keyspace, ids, options, receive) =>
      readNow?.(keyspace, ids, options, (document, at) => receive(counted(document), at)) ?? null;
    documents.read = async (keyspace, ids, options) =>
      (await read(keyspace, ids, options)).map((document) => document && counted(document));
    return {};
  });
  assert.deepEqual([rows.length, copies], [documentCount, 0]);
});

test('a statement whose expressions take long yields between rows', async () => {
  for (const statement of [
    'SELECT CLOCK_MILLIS() FROM t',
    'SELECT RAW a FROM t WHERE CLOCK_MILLIS() > 0',
    'SELECT a FROM t ORDER BY CLOCK_MILLIS()',
    'SELECT COUNT(*) FROM t GROUP BY CLOCK_MILLIS()',
  ]) {
    const { rows, mostCalls } = await ranWith(aStore(), statement, (work) => ({
      clockMs: () => {
        work();
        return 1_700_000_000_000;
      },
    }));
    assert.ok(rows.length === documentCount || statement.includes('GROUP'), statement);
    assert.ok(mostCalls > 0 && mostCalls <= 4, `${mostCalls} rows without a pause: ${statement}`);
  }
});

test('a statement over one large document yields while it parses, changes and encodes it', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  const items = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `name ${id}` }));
  datastore.put(t, 'k', { items });
  for (const [statement, expected] of [
    ['SELECT RAW COUNT(*) FROM t USE KEYS "k" UNNEST t.items', [items.length]],
    ['SELECT RAW ARRAY_LENGTH(ARRAY_DISTINCT(items)) FROM t USE KEYS "k"', [items.length]],
    ['SELECT RAW ARRAY_LENGTH(ARRAY_AGG(items)[0]) FROM t USE KEYS "k"', [items.length]],
    ['UPDATE t USE KEYS "k" SET items[3].id = UUID() RETURNING RAW items[4]', [items[4]]],
    [
      'UPSERT INTO t (KEY k, VALUE v) SELECT "l" AS k, t AS v FROM t USE KEYS "k" RETURNING RAW META().id',
      ['l'],
    ],
    ['UPSERT INTO t VALUES ("l", $v) RETURNING RAW items[4]', [items[4]]],
    ['MERGE INTO t USING [1] AS s ON KEY "k" WHEN MATCHED THEN UPDATE SET t.x = s', []],
  ] as const) {
    let nowMs = 0;
    let pauses = 0;
    const prepared = prepareOn(datastore, statement);
    const context = {
      ...contextOf(datastore, { named: new Map([['v', { items }]]) }),
      // Each look at the clock is a millisecond later than the one before: one in five is after the end of the time slice.
      monotonicMs: () => nowMs++,
      pause: async () => {
        pauses++;
      },
    };
    const rows: unknown[] = [];
    for await (const batch of prepared.program.run(prepared, context).rows)
      for (const row of batch) rows.push(JSON.parse(jsonText(row)));
    assert.deepEqual(rows, expected, statement);
    assert.ok(pauses >= 2, `${pauses} pauses: ${statement}`);
  }
});

test('a row that is evaluated again after its large values were parsed gets the UUIDs of its first evaluation', async () => {
  const datastore = new MemoryDatastore();
  const long = { items: Array.from({ length: 10_000 }, (_, id) => ({ id })) };
  const t = datastore.add('t');
  for (const key of ['k', 'l', 'm']) datastore.put(t, key, key === 'm' ? { items: [1] } : long);
  const statement =
    'SELECT RAW [UUID(), ARRAY_LENGTH(ARRAY_SORT(items)), UUID()] FROM t USE KEYS ["k", "l", "m"]';
  const prepared = prepareOn(datastore, statement);
  const rows: unknown[] = [];
  for await (const batch of prepared.program.run(prepared, contextOf(datastore)).rows)
    for (const row of batch) rows.push(JSON.parse(jsonText(row)));
  assert.deepEqual(rows, [
    ['uuid-1', 10_000, 'uuid-2'],
    ['uuid-3', 10_000, 'uuid-4'],
    ['uuid-5', 1, 'uuid-6'],
  ]);
});

test('a statement that compares rows yields between those whose keys take long', async () => {
  for (const [statement, count] of [
    ['SELECT RAW COUNT(*) FROM t GROUP BY a', documentCount],
    ['SELECT DISTINCT RAW a FROM t', documentCount],
    ['SELECT RAW a FROM t INTERSECT SELECT RAW a FROM t', documentCount],
    ['SELECT RAW a FROM t UNION SELECT RAW a FROM t', documentCount],
  ] as const) {
    const { rows, mostCalls } = await ranWith(aStore(), statement, (work) => ({
      // Read for each new key.
      get spillBytes() {
        work();
        return Number.POSITIVE_INFINITY;
      },
    }));
    assert.equal(rows.length, count);
    assert.ok(mostCalls > 0 && mostCalls <= 2, `${statement}: ${mostCalls} keys without a pause`);
  }
});

test('rows that share large values get the right groups', async () => {
  const datastore = new MemoryDatastore();
  const list = Array.from({ length: 40_000 }, (_, at) => at);
  datastore.put(datastore.add('t'), 'k', { list, s: 'x'.repeat(70_000) });
  const unnested = 'FROM t UNNEST ARRAY_RANGE(0, 20) AS r';
  for (const [statement, expected] of [
    [`SELECT RAW COUNT(*) ${unnested} GROUP BY t`, [20]],
    [`SELECT RAW COUNT(*) ${unnested} GROUP BY t.list, t.s`, [20]],
    [`SELECT RAW SUM(r) ${unnested} GROUP BY t.list, r < 10`, [45, 145]],
    [`SELECT RAW SUM(r) ${unnested} GROUP BY [t.list, r < 10]`, [45, 145]],
    [`SELECT RAW COUNT(*) FROM (SELECT DISTINCT t.list, t.s ${unnested}) AS d`, [1]],
    [`SELECT RAW COUNT(*) FROM (SELECT DISTINCT t.list, r < 10 AS s ${unnested}) AS d`, [2]],
  ] as const) {
    const rows = await query(datastore, statement);
    assert.deepEqual(new Set(rows), new Set(expected));
  }
});
