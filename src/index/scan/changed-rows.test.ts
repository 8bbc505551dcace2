// Pages of an index in which the rows of changed documents replace the stored ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { KeyWriter } from '../keys/key-writer.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import type { IndexReader, PageRequest, StoredRow } from '../store/index-store.ts';
import { ChangedRowsOfScans, changedRowsOf, withChanges } from './changed-rows.ts';

const index: IndexDefinition = {
  id: '1',
  name: 'i',
  keyspace: {
    name: { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' },
    bucketUuid: '1',
    scopeId: 0,
    collectionId: 0,
  },
  isPrimary: false,
  keys: [{ expression: '`a`', isDescending: false, includesMissing: false }],
  isDeferred: false,
  replicas: 0,
};

const writer = new KeyWriter(1_000);
function keyOf(value: number): Buffer {
  writer.truncate();
  writer.write(value);
  return writer.copy();
}

const rowOf = ([id, value]: readonly [string, number]): StoredRow => ({ key: keyOf(value), id });

const documentOf = (id: string, a: number): StoredDocument => ({
  id,
  bytes: Buffer.from(JSON.stringify({ a })),
  isJson: true,
  cas: 1n,
  expiration: 0,
  flags: 0,
});

const byKeyAndId = (a: StoredRow, b: StoredRow): number =>
  Buffer.compare(a.key, b.key) || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));

/** The page that an index file with these rows returns. */
function pageOf(
  rows: readonly StoredRow[],
  { start, end }: KeyInterval,
  { after, isReverse, limit }: PageRequest,
): StoredRow[] {
  const sign = isReverse ? -1 : 1;
  return rows
    .filter(({ key }) => Buffer.compare(key, start) >= 0 && (end === null || Buffer.compare(key, end) < 0))
    .filter((row) => after === null || sign * byKeyAndId(row, after) > 0)
    .sort((a, b) => sign * byKeyAndId(a, b))
    .slice(0, limit);
}

const readerOf = (rows: readonly StoredRow[]): IndexReader => ({
  page: (interval, page) => pageOf(rows, interval, page),
  refresh() {},
  close() {},
});

const noPause = () => undefined;

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
const values = fc.integer({ min: 0, max: 5 });

test('a page has the rows that the index would have if the changes were in it', async () => {
  const seed = printedSeed(console.log);
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(ids, values),
      fc.dictionary(ids, fc.option(values)),
      fc.record({ from: values, to: fc.option(values), isReverse: fc.boolean() }),
      fc.integer({ min: 1, max: 4 }),
      async (stored, changes, { from, to, isReverse }, limit) => {
        const changed = new Map(
          Object.entries(changes).map(([id, a]) => [id, a === null ? null : documentOf(id, a)]),
        );
        const storedReader = readerOf(Object.entries(stored).map(rowOf));
        const reader = withChanges(storedReader, await changedRowsOf(index, changed, noPause));
        const present = Object.entries({ ...stored, ...changes }).filter(
          (entry): entry is [string, number] => entry[1] !== null,
        );
        const expected = present.map(rowOf);
        const interval = { start: keyOf(from), end: to === null ? null : keyOf(to), accepts: null };
        let after: StoredRow | null = null;
        for (;;) {
          const page: readonly StoredRow[] = reader.page(interval, { after, isReverse, limit });
          assert.deepEqual(page, pageOf(expected, interval, { after, isReverse, limit }));
          after = page.at(-1) ?? null;
          if (page.length < limit) return;
        }
      },
    ),
    { numRuns: 500, seed },
  );
});

test('reading all pages compares a number of keys that grows with the number of changed documents, not with its square', async (t) => {
  const count = 1_000;
  const changed = new Map(Array.from({ length: count }, (_, at) => [`k${at}`, documentOf(`k${at}`, at)]));
  const interval = { start: Buffer.alloc(0), end: null, accepts: null };
  // Two binary searches for each page take about 20 comparisons; a comparison with every changed document would take 1,000.
  const comparisonsMax = 200 * count;
  const { compare } = Buffer;
  let compared = 0;
  t.mock.method(Buffer, 'compare', (left: Buffer, right: Buffer) => {
    assert.ok(++compared < comparisonsMax, `${compared} comparisons for ${count} documents`);
    return compare(left, right);
  });
  const reader = withChanges(readerOf([]), await changedRowsOf(index, changed, noPause));
  let after: StoredRow | null = null;
  for (let read = 0; read < count; read++)
    [after = null] = reader.page(interval, { after, isReverse: false, limit: 1 });
  assert.equal(after?.id, `k${count - 1}`);
  assert.ok(compared > count, `only ${compared} comparisons were counted`);
});

/** A reader of these rows, in index order, that counts the reads and the rows that they return. */
function countingReader(rows: readonly StoredRow[]) {
  const counts = { reads: 0, rows: 0 };
  const page = (_: KeyInterval, { after, limit }: PageRequest): StoredRow[] => {
    const first = after === null ? 0 : rows.findIndex((row) => byKeyAndId(row, after) > 0);
    const found = first < 0 ? [] : rows.slice(first, first + limit);
    counts.reads++;
    counts.rows += found.length;
    return found;
  };
  return { counts, reader: { page, refresh() {}, close() {} } };
}

const whole: KeyInterval = { start: Buffer.alloc(0), end: null, accepts: null };
const numbers = Array.from({ length: 3_000 }, (_, at) => at);
const storedRows = numbers.map((at) => rowOf([`k${at}`, at]));

test('a page of one row behind thousands of rows of changed documents takes few reads', async () => {
  const { counts, reader } = countingReader([...storedRows, rowOf(['other', 5_000])]);
  const changed = new Map(numbers.map((at) => [`k${at}`, null]));
  const view = withChanges(reader, await changedRowsOf(index, changed, noPause));
  const page = view.page(whole, { after: null, isReverse: false, limit: 1 });
  assert.deepEqual(
    page.map(({ id }) => id),
    ['other'],
  );
  assert.equal(counts.reads, 4);
});

test('pages of changed rows do not read the stored rows behind them again and again', async () => {
  const { counts, reader } = countingReader(storedRows);
  const changed = new Map(numbers.map((at) => [`k${at}`, documentOf(`k${at}`, at - 10_000)]));
  const view = withChanges(reader, await changedRowsOf(index, changed, noPause));
  let after: StoredRow | null = null;
  for (let read = 0; read < 30; read++)
    after = view.page(whole, { after, isReverse: false, limit: 100 }).at(-1) ?? null;
  assert.equal(after?.id, 'k2999');
  assert.ok(counts.rows <= 2 * storedRows.length, `${counts.rows} rows were read`);
});

test('the rows of many changed documents are computed with pauses', async () => {
  let pauses = 0;
  const changed = new Map(numbers.map((at) => [`k${at}`, documentOf(`k${at}`, at)]));
  const changes = await changedRowsOf(index, changed, () => void pauses++);
  assert.deepEqual([changes?.rows.length, pauses], [3_000, 11]);
});

test('the rows of changed documents are computed once for the scans of a statement, and for each index', async () => {
  const rows = new ChangedRowsOfScans();
  const changed = new Map([['k', documentOf('k', 1)]]);
  const first = await rows.of({ index, changed });
  assert.equal(await rows.of({ index, changed }), first);
  const other = {
    ...index,
    id: '2',
    keys: [{ expression: '`b`', isDescending: false, includesMissing: false }],
  };
  assert.deepEqual((await rows.of({ index: other, changed }))?.rows, []);
});
