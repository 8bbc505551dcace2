// Values of large text are parsed only where an expression or aggregate reads them, and once for the rows of a document.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { ParsedTexts } from '../values/parsed-texts.ts';
import { RawJson } from '../values/value.ts';

const long = `[${'1, '.repeat(40_000)}`;

test('aggregates that read only types and numbers do not parse large arrays', async () => {
  const datastore = new MemoryDatastore();
  // The array ends with a word that no parser accepts, and that a search for fields passes over.
  datastore.put(datastore.add('t'), 'k', `{"a": ${long} nothing], "u": [1, 2]}`);
  const rows = await query(datastore, 'SELECT COUNT(t.a) c, AVG(t.a) v, SUM(t.a) s FROM t UNNEST t.u');
  assert.deepEqual(rows, [{ c: 2, v: null, s: null }]);
  await assert.rejects(query(datastore, 'SELECT MIN(t.a) FROM t UNNEST t.u'), /Invalid JSON/);
  await assert.rejects(query(datastore, 'SELECT COUNT(DISTINCT t.a) FROM t UNNEST t.u'), /Invalid JSON/);
});

test('parsed texts stay for the next row only if this one used them', () => {
  const [one, other] = [new RawJson(new Uint8Array(9), 0, 9), new RawJson(new Uint8Array(9), 0, 9)];
  const texts = new ParsedTexts();
  texts.add(one, [1]);
  texts.add(other, [2]);
  texts.endRow();
  assert.deepEqual(texts.find(new RawJson(one.bytes, 0, 9)), [1]);
  texts.endRow();
  assert.equal(texts.find(other), undefined);
  assert.deepEqual(texts.find(one), [1]);
  texts.endRow();
  texts.endRow();
  assert.equal(texts.find(one), undefined);
});

test('a statement parses a large value once for the rows of a document, however many batches they fill', async () => {
  const datastore = new MemoryDatastore();
  const a = Array.from({ length: 40_000 }, (_, at) => at);
  datastore.put(datastore.add('t'), 'k', { a });
  const parsed: RawJson[] = [];
  const add = ParsedTexts.prototype.add;
  ParsedTexts.prototype.add = function addCounted(raw, value) {
    parsed.push(raw);
    add.call(this, raw, value);
  };
  try {
    const found =
      'SELECT RAW COUNT(*) FROM t UNNEST t.a AS x WHERE x < 2000 AND t.a[1] = 1 AND ARRAY_POSITION(t.a, x) = x';
    assert.deepEqual(await query(datastore, found), [2000]);
  } finally {
    ParsedTexts.prototype.add = add;
  }
  assert.ok(parsed.length <= 2, `${parsed.length} times`);
});
