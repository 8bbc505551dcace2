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
import { withChanges } from './changed-rows.ts';

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

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
const values = fc.integer({ min: 0, max: 5 });

test('a page has the rows that the index would have if the changes were in it', () => {
  const seed = printedSeed(console.log);
  fc.assert(
    fc.property(
      fc.dictionary(ids, values),
      fc.dictionary(ids, fc.option(values)),
      fc.record({ from: values, to: fc.option(values), isReverse: fc.boolean() }),
      fc.integer({ min: 1, max: 4 }),
      (stored, changes, { from, to, isReverse }, limit) => {
        const changed = new Map(
          Object.entries(changes).map(([id, a]) => [id, a === null ? null : documentOf(id, a)]),
        );
        const reader = withChanges(readerOf(Object.entries(stored).map(rowOf)), index, changed);
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

test('reading all pages compares a number of keys that grows with the number of changed documents, not with its square', (t) => {
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
  const reader = withChanges(readerOf([]), index, changed);
  let after: StoredRow | null = null;
  for (let read = 0; read < count; read++)
    [after = null] = reader.page(interval, { after, isReverse: false, limit: 1 });
  assert.equal(after?.id, `k${count - 1}`);
  assert.ok(compared > count, `only ${compared} comparisons were counted`);
});
