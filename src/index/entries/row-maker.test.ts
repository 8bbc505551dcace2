import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexKey } from '#sqlpp/datastore/indexes.ts';
import { countSteps, renewSteps, stepsMax } from '#sqlpp/values/step-limit.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { KeyReader } from '../keys/key-reader.ts';
import { RowDecoder } from '../scan/row-decoder.ts';
import { compileDefinition } from './compile-definition.ts';
import type { IndexedDocument } from './compiled-definition.ts';
import { keyPartsOf } from './key-parts.ts';
import { arrayEntriesMax, keyBytesMax, RowMaker, rowsBytesMax } from './row-maker.ts';

const documentOf = (value: unknown, changes: Partial<IndexedDocument> = {}): IndexedDocument => ({
  id: 'd',
  body: Buffer.from(JSON.stringify(value)),
  isJson: true,
  cas: 5n,
  expiration: 7,
  flags: 3,
  xattr: () => undefined,
  ...changes,
});

function rowsOf(
  keys: readonly (string | Partial<IndexKey>)[],
  value: unknown,
  { condition, document }: { condition?: string; document?: Partial<IndexedDocument> } = {},
): Value[][] {
  const definition = aDefinition(keys, condition === undefined ? {} : { condition });
  const rows = new RowMaker(compileDefinition(definition)).keysOf(
    documentOf(value, document),
    Buffer.from('d'),
  );
  const parts = keyPartsOf(definition);
  return rows.map((row) => {
    const reader = new KeyReader().reset(row);
    return parts.map(({ isDescending }) => reader.read(isDescending));
  });
}

/** A key over the elements of an array. */
const arrayKey = (expression: string): Partial<IndexKey> => ({
  expression,
  array: expression.startsWith('(all') ? 'all' : 'distinct',
});

test('keys are evaluated over fields, metadata and attributes of the document', () => {
  const value = { a: { b: [1, { c: 'X' }] }, n: 2 ** 53 };
  assert.deepEqual(rowsOf(['`a`.`b`[1].`c`', '`n` + 1'], value), [['X', 9007199254740993n]]);
  assert.deepEqual(rowsOf(['lower((`a`.`b`[1]).`c`)', '(meta().`id`)', 'meta().`expiration`'], value), [
    ['x', 'd', 7],
  ]);
  assert.deepEqual(rowsOf(['self'], { z: 1, y: 2 }).length, 1);
  const document = { xattr: (name: string) => (name === 'x' ? Buffer.from('{"y":[1]}') : undefined) };
  assert.deepEqual(rowsOf(['meta().`xattrs`.`x`.`y`'], {}, { document }), [[[1]]]);
});

test('a document with a MISSING leading key has a row only if the key includes MISSING', () => {
  assert.deepEqual(rowsOf(['`a`', '`b`'], { b: 1 }), []);
  assert.deepEqual(rowsOf(['`a`', '`b`'], { a: null }), [[null, undefined]]);
  assert.deepEqual(rowsOf([{ expression: '`a`', includesMissing: true }, '`b`'], { b: 1 }), [[undefined, 1]]);
});

test('a partial index has only documents whose condition is true', () => {
  assert.equal(rowsOf(['`a`'], { a: 1, t: 'x' }, { condition: '`t` = "x"' }).length, 1);
  assert.equal(rowsOf(['`a`'], { a: 1 }, { condition: '`t` = "x"' }).length, 0);
});

test('a document that is not JSON has metadata only', () => {
  const document = { isJson: false, body: Buffer.from([0xff]) };
  assert.deepEqual(rowsOf(['meta().`id`', '`a`'], null, { document }), [['d', undefined]]);
  assert.deepEqual(rowsOf(['`a`'], null, { document }), []);
});

test('an array key makes a row for each element', () => {
  const each = '(distinct (array `v` for `v` in `t` end))';
  assert.deepEqual(rowsOf([arrayKey(each)], { t: [2, 1, 2] }), [[2], [1]]);
  assert.deepEqual(rowsOf([arrayKey('(all `t`)')], { t: [2, 1, 2] }), [[2], [1], [2]]);
  assert.deepEqual(
    rowsOf([arrayKey('(distinct (array `v`.`x` for `v` in `t` when `v`.`y` > 1 end))')], {
      t: [{ x: 1, y: 1 }, { x: 2, y: 2 }, { y: 3 }],
    }),
    [[2]],
  );
  assert.deepEqual(rowsOf([arrayKey(each)], { t: [] }), []);
  assert.deepEqual(rowsOf([arrayKey(each)], {}), []);
  assert.deepEqual(
    rowsOf(['`n`', arrayKey(each), { expression: '`m`', isDescending: true }], { n: 1, m: 2, t: [3, 4] }),
    [
      [1, 3, 2],
      [1, 4, 2],
    ],
  );
  assert.deepEqual(rowsOf(['`n`', arrayKey(each)], { n: 1, t: [] }), [[1, undefined]]);
});

test('nested arrays are flattened, and each key of FLATTEN_KEYS has a position', () => {
  const nested = '(distinct (array (distinct (array `w` for `w` in `v`.`l` end)) for `v` in `t` end))';
  assert.deepEqual(rowsOf([arrayKey(nested)], { t: [{ l: [1, 2] }, { l: [2, 3] }, {}] }), [[1], [2], [3]]);
  const flat = '(distinct (array flatten_keys(`v`.`a`, `v`.`b` desc) for `v` in `t` end))';
  assert.deepEqual(rowsOf([arrayKey(flat), '`n`'], { n: 9, t: [{ a: 1, b: 'x' }, { a: 1 }, { b: 2 }] }), [
    [1, 'x', 9],
    [1, undefined, 9],
  ]);
});

test('an ALL array has a row for each element, however often one is repeated', () => {
  const maker = new RowMaker(compileDefinition(aDefinition([arrayKey('(all `t`)')])));
  const keys = maker.keysOf(documentOf({ t: Array.from({ length: 70_000 }, () => 7) }), Buffer.from('d'));
  assert.equal(new Set(keys.map((key) => key.toString('hex'))).size, 70_000);
  const decoder = new RowDecoder([0], []);
  assert.deepEqual([...new Set(keys.map((key) => decoder.decode(key)[0]))], [7]);
});

test('documents above a limit are left out and counted', () => {
  const maker = new RowMaker(compileDefinition(aDefinition(['`a`'])));
  assert.deepEqual(maker.keysOf(documentOf({ a: 'x'.repeat(keyBytesMax) }), Buffer.from('d')), []);
  assert.equal(maker.leftOut, 1);
  assert.equal(maker.keysOf(documentOf({ a: 'x' }), Buffer.from('d')).length, 1);
  const arrays = new RowMaker(compileDefinition(aDefinition([arrayKey('(all `t`)')])));
  const long = documentOf({ t: Array.from({ length: arrayEntriesMax + 1 }, () => 0) });
  assert.deepEqual(arrays.keysOf(long, Buffer.from('d')), []);
  assert.equal(arrays.leftOut, 1);
});

test('the limit of a key counts the fields before and after an indexed array too', () => {
  const maker = new RowMaker(compileDefinition(aDefinition(['`a`', arrayKey('(all `t`)'), '`b`'])));
  const rowsOf = (bytes: number) => {
    const text = 'x'.repeat(bytes);
    return maker.keysOf(documentOf({ a: text, t: [text], b: text }), Buffer.from('d')).length;
  };
  assert.deepEqual([rowsOf(10_000), maker.leftOut], [1, 0]);
  assert.deepEqual([rowsOf(12_000), maker.leftOut], [0, 1]);
});

test('a document whose rows repeat a long field too often is left out', () => {
  const maker = new RowMaker(compileDefinition(aDefinition(['`a`', arrayKey('(all `t`)')])));
  const rowsOf = (count: number) =>
    maker.keysOf(
      documentOf({ a: 'x'.repeat(30_000), t: Array.from({ length: count }, (_, n) => n) }),
      Buffer.from('d'),
    );
  /** The long field, and at most 20 bytes for the number and the lengths. */
  const rowBytesMax = 30_020;
  const fitting = Math.floor(rowsBytesMax / rowBytesMax);
  assert.deepEqual([rowsOf(fitting).length, maker.leftOut], [fitting, 0]);
  assert.deepEqual([rowsOf(fitting + 10).length, maker.leftOut], [0, 1]);
});

test('a document whose key would take minutes to evaluate is left out, and others are indexed', () => {
  const within = (expression: string) => `(any i in array_range(0, 10000) satisfies ${expression} end)`;
  const slow = within('(any j in array_range(0, `a`) satisfies ((i + j) < 0) end)');
  const maker = new RowMaker(compileDefinition(aDefinition([slow])));
  const rowsOf = (a: number) => maker.keysOf(documentOf({ a }), Buffer.from('d'));
  assert.deepEqual([rowsOf(30_000).length, maker.leftOut], [0, 1]);
  for (let round = 0; round < 3; round++) assert.equal(rowsOf(5).length, 1);
});

test('the steps for earlier documents do not count towards the limit of a document', () => {
  const maker = new RowMaker(compileDefinition(aDefinition(['LOWER(`a`)'])));
  renewSteps();
  countSteps(stepsMax - 5_000);
  assert.equal(maker.keysOf(documentOf({ a: 'x'.repeat(20_000) }), Buffer.from('d')).length, 1);
});
