import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { plain, rawOf } from '../../../test/support/json-values.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { extractFields, FieldTree } from './field-extraction.ts';
import { memberOf, nameBytes } from './json-scan.ts';
import { jsonText } from './json-text.ts';
import { RawJson, type Value } from './value.ts';

fc.configureGlobal({ seed: printedSeed(console.log) });

test('one scan for several fields finds the same as a scan for each', () => {
  const names = fc.constantFrom('a', 'b', 'ab', '__proto__', 'ä', '"', '');
  const { object: objects } = fc.letrec<{ object: unknown }>((tie) => ({
    object: fc.dictionary(
      names,
      fc.oneof({ maxDepth: 3 }, fc.integer(), fc.string(), fc.constant(null), tie('object')),
      { maxKeys: 4 },
    ),
  }));
  const paths = fc.uniqueArray(fc.array(names, { minLength: 1, maxLength: 3 }), {
    maxLength: 6,
    selector: (path) => path.join('/'),
  });
  fc.assert(
    fc.property(objects, paths, fc.boolean(), (object, wanted, isSpaced) => {
      const raw = rawOf(JSON.stringify(object, null, isSpaced ? 1 : 0));
      const row: Value[] = wanted.map(() => 'from the row before');
      extractFields(raw, new FieldTree(wanted.map((path, slot) => ({ names: path, slot }))), row);
      const expected = wanted.map((path) =>
        path.reduce<Value>(
          (value, name) => (value instanceof RawJson ? memberOf(value, nameBytes(name)) : undefined),
          raw,
        ),
      );
      assert.deepEqual(row.map(plain), expected.map(plain));
    }),
    { numRuns: 1000 },
  );
  const row: Value[] = [];
  extractFields(
    rawOf('{"a": {"b": 1}, "a": {"b": 2}, "c": 3}'),
    new FieldTree([
      { names: ['a', 'b'], slot: 0 },
      { names: ['c'], slot: 1 },
    ]),
    row,
  );
  assert.deepEqual(row, [1, 3]);
});

test('a string that is extracted as JSON text has the text that it would have in an answer', () => {
  const numbers = fc.constantFrom('0', '-0', '1.50', '1e3', '1E-7', '9007199254740993', '-12', '1e400');
  const texts = fc.oneof(
    numbers,
    fc.json({ maxDepth: 2, noUnicodeString: false }),
    fc.string({ unit: 'binary', maxLength: 40 }).map((text) => JSON.stringify(text)),
    fc.constantFrom('"\\u0041\\/"', '"\u0001"', '"\u2028"', '"a\tb"', '"é"', `"${'x'.repeat(100)}"`),
  );
  const trees = [false, true].map(
    (isQuoted) =>
      new FieldTree([
        { names: ['a'], slot: 0, isQuoted },
        { names: ['a', 'b'], slot: 1, isQuoted },
        { names: ['c', 'b'], slot: 2, isQuoted },
      ]),
  );
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const raw = rawOf(`{"a":${one},"c":{"b": ${other}}}`);
      const [values, written] = trees.map((tree) => {
        const row: Value[] = [];
        extractFields(raw, tree, row);
        return row;
      });
      const expected = values?.map((value) => (typeof value === 'string' ? jsonText(value) : value));
      assert.deepEqual(written, expected);
    }),
    { numRuns: 1000 },
  );
});

test('of duplicate members the first counts, however many members are wanted', () => {
  const names = Array.from({ length: 40 }, (_, at) => `f${at}`);
  const wanted = names.flatMap((name) => [[name], [name, 'x'], [name, 'y']]);
  const tree = new FieldTree(wanted.map((path, slot) => ({ names: path, slot })));
  const firsts = ['null', '{"x":1}', '{"x":null}', '1', '"a"', '"\\u0061"'];
  for (const first of firsts) {
    const members = [first, '{"x":2,"y":3}', '"b"'].flatMap((value) =>
      names.map((name) => `"${name}":${value}`),
    );
    const row: Value[] = [];
    extractFields(rawOf(`{${members.join()}}`), tree, row);
    const single: Value[] = [];
    extractFields(rawOf(`{"f0":${first}}`), tree, single);
    const expected = names.flatMap(() => single.slice(0, 3));
    assert.deepEqual(row.map(plain), expected.map(plain), first);
  }
});

test('a part of a document keeps no buffer with many documents in memory', () => {
  const shared = Buffer.alloc(1 << 20, ' ');
  const text = '{"a":{"b":[1,2]},"c":"x"}';
  shared.write(text, 1_000);
  const row: Value[] = [];
  const raw = new RawJson(shared, 1_000, 1_000 + text.length);
  extractFields(raw, new FieldTree([{ names: ['a'], slot: 0 }]), row);
  const part = row[0] as RawJson;
  assert.equal(jsonText(part), '{"b":[1,2]}');
  assert.equal(part.bytes.buffer.byteLength, 11);
});
