import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { collate } from '#sqlpp/values/collation.ts';
import { Binary, newObject, setMember, type Value } from '#sqlpp/values/value.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { keyName } from './key-name.ts';
import { KeyFormatError, KeyReader } from './key-reader.ts';
import { KeyTooLongError, KeyWriter } from './key-writer.ts';

const limitBytes = 1 << 20;

const bigints = fc
  .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  .map((value) => (BigInt(Number(value)) === value ? Number(value) : value));
/** Integers around one double: an encoding that rounds would lose their order. */
const neighbours = fc
  .tuple(
    fc.constantFrom(2n ** 53n, -(2n ** 53n), 2n ** 60n, 2n ** 62n, -(2n ** 62n)),
    fc.integer({ min: -600, max: 600 }),
  )
  .map(([base, more]) => base + BigInt(more))
  .map((value) => (BigInt(Number(value)) === value ? Number(value) : value));
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom('\0', '\u0001', '\u0002', 'a', 'ÿ', '\ud800', '\udc00', '\ue000', '😀'),
    maxLength: 4,
  }),
);
const scalars: fc.Arbitrary<Value>[] = [
  fc.constantFrom<Value>(
    null,
    true,
    false,
    0,
    -0,
    1,
    -1,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
  ),
  fc.double(),
  fc.integer(),
  bigints,
  neighbours,
  texts,
];
const { value: values } = fc.letrec<{ value: Value; object: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    ...scalars,
    fc.uint8Array({ maxLength: 4 }).map((bytes) => new Binary(bytes)),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.array(fc.tuple(texts, tie('value')), { maxLength: 3 }).map((members) => {
    const object = newObject();
    for (const [name, value] of members) setMember(object, name, value);
    return object;
  }),
}));
const optional = fc.option(values, { nil: undefined, freq: 10 }) as fc.Arbitrary<Value>;

test('the order of keys is the order of their values', () => {
  fc.assert(
    fc.property(optional, optional, (left, right) => {
      assert.equal(Math.sign(Buffer.compare(keyOf([left]), keyOf([right]))), Math.sign(collate(left, right)));
    }),
    { numRuns: 5_000, seed: printedSeed(console.log) },
  );
});

test('keys with several components are ordered by the first one that differs, each in its direction', () => {
  const directions = fc.array(fc.boolean(), { minLength: 3, maxLength: 3 });
  const few = fc.oneof(fc.constantFrom<Value>(undefined, null, 1, 'a', 'ab', [], [1]), values);
  const tuples = fc.array(few, { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(tuples, tuples, directions, (left, right, descending) => {
      const differences = left.map((value, at) => collate(value, right[at]) * (descending[at] ? -1 : 1));
      const expected = Math.sign(differences.find((difference) => difference !== 0) ?? 0);
      assert.equal(Math.sign(Buffer.compare(keyOf(left, descending), keyOf(right, descending))), expected);
    }),
    { numRuns: 3_000, seed: printedSeed(console.log) },
  );
});

test('a key is decoded to its values, and a skip passes exactly one value', () => {
  fc.assert(
    fc.property(fc.array(optional, { maxLength: 4 }), fc.boolean(), (tuple, isDescending) => {
      const key = keyOf(
        tuple,
        tuple.map(() => isDescending),
      );
      const [reader, skipper] = [new KeyReader().reset(key), new KeyReader().reset(key)];
      for (const value of tuple) {
        assert.equal(collate(reader.read(isDescending), value), 0);
        skipper.skip(isDescending);
        assert.equal(skipper.position, reader.position);
      }
      assert.equal(reader.position, key.length);
    }),
    { numRuns: 3_000, seed: printedSeed(console.log) },
  );
});

test('texts decode to the same UTF-16 units, unpaired surrogates included', () => {
  fc.assert(
    fc.property(texts, (text) => {
      assert.equal(new KeyReader().reset(keyOf([text])).read(), text);
    }),
    { numRuns: 5_000, seed: printedSeed(console.log) },
  );
});

test('integers of 64 bits decode exactly', () => {
  for (const value of [2n ** 63n - 1n, -(2n ** 63n) + 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n]) {
    assert.equal(new KeyReader().reset(keyOf([value])).read(), value);
  }
  assert.equal(new KeyReader().reset(keyOf([2 ** 60])).read(), 2 ** 60);
});

test('damaged keys throw a KeyFormatError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.boolean(), (bytes, isDescending) => {
      const reader = new KeyReader().reset(bytes);
      try {
        while (reader.position < bytes.length) reader.read(isDescending);
      } catch (error) {
        assert.ok(error instanceof KeyFormatError, String(error));
      }
    }),
    { numRuns: 5_000, seed: printedSeed(console.log) },
  );
});

test('a damaged key with more levels than documents have throws a KeyFormatError', () => {
  for (const bytes of [Buffer.alloc(30_000, 7), Buffer.concat([Buffer.alloc(2_401, 7), Buffer.alloc(2_401)])])
    assert.throws(() => new KeyReader().reset(bytes).read(), KeyFormatError);
  const deepest = Buffer.concat([Buffer.alloc(2_400, 7), Buffer.alloc(2_400)]);
  assert.ok(Array.isArray(new KeyReader().reset(deepest).read()));
});

test('a key above the limit is refused, whichever part makes it long, and the next key is accepted', () => {
  const writer = new KeyWriter(100);
  let nested: Value = [];
  for (let level = 0; level < 5_000; level++) nested = [nested];
  for (const value of [
    'x'.repeat(101),
    'x'.repeat(1 << 20),
    nested,
    Array.from({ length: 200 }, () => null),
    Array.from({ length: 100_000 }, (_, at) => at),
    Array.from({ length: 100_000 }, (_, at) => BigInt(at) + 2n ** 60n),
  ]) {
    assert.throws(() => writer.write(value), KeyTooLongError);
    assert.ok(
      writer.reservedBytes <= 10 * 100 + 128,
      `${writer.reservedBytes} bytes for a key of at most 100`,
    );
    writer.truncate();
    writer.write('a');
    assert.equal(new KeyReader().reset(writer.view()).read(), 'a');
    writer.truncate();
  }
});

function keyOf(tuple: readonly Value[], descending: readonly boolean[] = []): Buffer {
  const writer = new KeyWriter(limitBytes);
  for (const [at, value] of tuple.entries()) writer.write(value, descending[at]);
  return writer.copy();
}

test('long keys have short names, which differ', () => {
  const longKey = (last: string): Buffer => keyOf([`${'x'.repeat(30_000)}${last}`]);
  const [one, other] = [longKey('1'), longKey('2')];
  assert.notEqual(keyName(one), keyName(other));
  assert.equal(keyName(one), keyName(Buffer.from(one)));
  assert.ok(keyName(one).length < 100, 'V8 hashes strings of more than 16,383 characters by their length');
  assert.notEqual(keyName(keyOf(['1'])), keyName(keyOf(['2'])));
});
