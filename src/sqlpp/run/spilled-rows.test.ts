import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Binary, newObject, RawJson, type Value } from '../values/value.ts';
import { SpillReader, SpillWriter } from './spilled-rows.ts';

test('rows in scratch files keep every kind of value', () => {
  const object = newObject();
  object['\ufeffname'] = 'first';
  object['\ud800'] = [null, undefined];
  const rows: Value[][] = [
    [undefined, null, false, true, -0.5, 9_007_199_254_740_993n],
    ['', 'text', '\ufeffmarked', 'ä€😀', '\ud800 alone', 'x'.repeat(20_000)],
    [[1, ['nested']], object, new Binary(Buffer.from([0, 255])), new RawJson(Buffer.from('[{}]'), 1, 3)],
    [],
  ];
  const writer = new SpillWriter();
  for (const row of rows) writer.add(row);
  const reader = new SpillReader(writer.drain());
  const found = Array.from({ length: rows.length }, () => reader.next());
  const raw = found[2]?.[3] as RawJson;
  assert.equal(Buffer.from(raw.bytes.subarray(raw.start, raw.end)).toString(), '{}');
  const binary = found[2]?.[2] as Binary;
  assert.deepEqual([...binary.bytes], [0, 255]);
  const plain = (row: Value[] | undefined) =>
    row?.filter((value) => !(value instanceof Binary || value instanceof RawJson));
  assert.deepEqual(found.map(plain), rows.map(plain));
  assert.equal(reader.next(), undefined);
});

test('a writer starts again after its rows were taken', () => {
  const writer = new SpillWriter();
  writer.add([1]);
  writer.drain();
  assert.equal(writer.size, 0);
  writer.add([2]);
  const reader = new SpillReader(writer.drain());
  assert.deepEqual([reader.next(), reader.next()], [[2], undefined]);
});
