import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { plain, rawOf } from '../../../test/support/json-values.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import {
  add,
  divide,
  divideIntegers,
  integerValue,
  moduloIntegers,
  multiply,
  negate,
  subtract,
} from './arithmetic.ts';
import { collate, memberNames } from './collation.ts';
import { compare, equal } from './comparison.ts';
import { extractFields, FieldTree } from './field-extraction.ts';
import { identityOf } from './identity.ts';
import { JsonError, parseJson, parseJsonText, resolve } from './json-parse.ts';
import { itemOf, itemsOf, memberOf, membersOf, nameBytes } from './json-scan.ts';
import { jsonText } from './json-text.ts';
import { typeName } from './types.ts';
import { Binary, newObject, RawJson, setMember, type Value } from './value.ts';

fc.configureGlobal({ seed: printedSeed(console.log) });

/** Random values: all JSON, MISSING and binary. */
const scalars = fc.oneof(
  fc.constant<Value>(undefined),
  fc.constant<Value>(null),
  fc.boolean(),
  fc.integer(),
  fc.double(),
  fc.constantFrom<Value>(2 ** 53, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n) + 1n, 0, -0),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('\u{1f600}', '\uffff', '\ue000', '', '__proto__', 'constructor'),
  fc.uint8Array().map((bytes) => new Binary(bytes)),
);
const { value: values } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalars,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ maxLength: 3 }), tie('value'), { maxKeys: 4 }).map((members) => {
      const object = newObject();
      for (const [name, member] of Object.entries(members)) setMember(object, name, member);
      return object as Value;
    }),
  ),
}));

test('collation is a total order', () => {
  fc.assert(
    fc.property(values, values, values, (a, b, c) => {
      assert.equal(collate(a, a), 0);
      assert.equal(Math.sign(collate(a, b)), -Math.sign(collate(b, a)) + 0);
      if (collate(a, b) <= 0 && collate(b, c) <= 0) assert.ok(collate(a, c) <= 0);
      if (collate(a, b) === 0) assert.equal(Math.sign(collate(a, c)), Math.sign(collate(b, c)));
    }),
    { numRuns: 2000 },
  );
});

test('values collate equal exactly if they have the same identity', () => {
  fc.assert(
    fc.property(values, values, (a, b) => {
      assert.equal(identityOf(a) === identityOf(b), collate(a, b) === 0);
      assert.equal(identityOf(a), identityOf(resolve(a)));
    }),
    { numRuns: 2000 },
  );
});

test('values are ordered by type, strings by code points, objects by size first', () => {
  const object = (members: Record<string, Value>): Value => Object.assign(newObject(), members);
  const ordered: Value[] = [
    undefined,
    null,
    false,
    true,
    Number.NaN,
    -Infinity,
    -1,
    0,
    2 ** 53,
    2n ** 53n + 1n,
    2 ** 53 + 2,
    Infinity,
    '',
    'A',
    'a',
    'ab',
    '\uffff',
    '\u{1f600}',
    [],
    [null],
    [1, 2],
    [2],
    object({}),
    object({ z: 1 }),
    object({ a: 1, b: 1 }),
    object({ a: 1, c: 0 }),
    new Binary(new Uint8Array([1])),
  ];
  for (let at = 1; at < ordered.length; at++) {
    assert.ok(collate(ordered[at - 1], ordered[at]) < 0, `${at}: ${jsonText(ordered[at])}`);
  }
});

test('comparisons propagate MISSING and NULL, MISSING first', () => {
  assert.equal(equal(undefined, null), undefined);
  assert.equal(equal(null, 1), null);
  assert.equal(equal(1, '1'), false);
  assert.equal(equal([1, null], [1, 2]), null);
  assert.equal(equal([1, null], [2, 2]), false);
  assert.equal(compare(1, undefined), undefined);
  assert.equal(compare(null, 1), null);
  assert.ok((compare(1, 'a') as number) < 0);
  assert.equal(compare(2n ** 60n + 1n, 2n ** 60n + 1n), 0);
});

test('the parser agrees with JSON.parse and refuses other text', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), (text) => {
      assert.deepEqual(
        plain(parseJsonText(text)),
        JSON.parse(text, (_, found: unknown) => (Object.is(found, -0) ? 0 : found)),
      );
    }),
    { numRuns: 1000 },
  );
  const cut = '{"a": [1, 2.5e3, "b\\u00e4", true, null], "c": {}}';
  for (let length = 0; length < cut.length; length++) {
    assert.throws(() => parseJsonText(cut.slice(0, length)), JsonError);
  }
  for (const text of [
    '01',
    '1.',
    '.5',
    '+1',
    '1e',
    '"\n"',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    'nul',
    '1 2',
    "'a'",
    '"\\x"',
  ]) {
    assert.throws(() => parseJsonText(text), JsonError, text);
  }
  assert.throws(() => parseJsonText('['.repeat(100_000)), /at most 2000 levels/);
});

test('64-bit integers are parsed and formatted exactly, other numbers without an exponent', () => {
  for (const text of ['9223372036854775807', '-9223372036854775808', '9007199254740993', '0', '-1', '1e2']) {
    assert.equal(jsonText(parseJsonText(text)), text === '1e2' ? '100' : text);
  }
  assert.equal(jsonText(1e21), '1000000000000000000000');
  assert.equal(jsonText(-1.5e-7), '-0.00000015');
  assert.equal(jsonText([Number.NaN, Infinity, -Infinity, -0]), '["NaN","+Infinity","-Infinity",0]');
});

test('a string and a name keep U+FEFF at their start', () => {
  for (const text of ['"\ufeffa"', '"\ufeff\\n"', '{"\ufeffk":"\ufeff"}']) {
    assert.equal(jsonText(parseJsonText(text)), text);
    assert.equal(jsonText(resolve(new RawJson(Buffer.from(`${text} `), 0, Buffer.byteLength(text)))), text);
  }
});

test('names of inherited properties are ordinary members', () => {
  const value = parseJsonText('{"__proto__": 1, "constructor": 2, "a": 3, "a": 4}') as Record<string, Value>;
  assert.deepEqual(
    ['__proto__', 'constructor', 'a', 'toString'].map((name) => value[name]),
    [1, 2, 3, undefined],
  );
  assert.deepEqual(memberNames(value), ['__proto__', 'a', 'constructor']);
});

test('a scan finds the same fields as parsing', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.boolean(), (text, isSpaced) => {
      const parsed = JSON.parse(text) as unknown;
      const raw = rawOf(isSpaced ? JSON.stringify(parsed, null, 2) : text);
      const expected = plain(parseJsonText(text));
      if (Array.isArray(expected)) {
        assert.deepEqual(plain(itemsOf(raw)), expected);
        for (const at of [-expected.length - 1, -1, 0, 1, expected.length]) {
          assert.deepEqual(plain(itemOf(raw, at)), expected.at(at));
        }
      } else assert.equal(itemsOf(raw), undefined);
      if (typeof expected === 'object' && expected !== null && !Array.isArray(expected)) {
        assert.deepEqual(
          Object.fromEntries((membersOf(raw) ?? []).map(([name, value]) => [name, plain(value)])),
          expected,
        );
        for (const [name, value] of Object.entries(expected)) {
          assert.deepEqual(plain(memberOf(raw, nameBytes(name))), value);
        }
        assert.equal(memberOf(raw, nameBytes('no such name')), undefined);
      } else assert.equal(memberOf(raw, nameBytes('a')), undefined);
    }),
    { numRuns: 1000 },
  );
});

test('a scan skips strings of every length, with quotes and backslashes anywhere', () => {
  const parts = fc.oneof(
    fc.constantFrom('"', '\\', '\\"', '\\\\', '{', ']', ','),
    fc.integer({ min: 1, max: 80 }).map((length) => 'x'.repeat(length)),
  );
  const strings = fc.array(parts, { maxLength: 12 }).map((list) => list.join(''));
  fc.assert(
    fc.property(fc.array(strings, { minLength: 1, maxLength: 4 }), strings, (before, wanted) => {
      const text = Buffer.from(JSON.stringify({ before, within: { before }, long: before[0], wanted }));
      // Other documents follow in the same buffer.
      const bytes = Buffer.concat([text, Buffer.from('"'.repeat(100))]);
      const raw = new RawJson(bytes, 0, text.length);
      assert.equal(memberOf(raw, nameBytes('wanted')), wanted);
      const row: Value[] = [];
      extractFields(raw, new FieldTree([{ names: ['wanted'], slot: 0 }]), row);
      assert.equal(row[0], wanted);
    }),
    { numRuns: 300 },
  );
});

test('a scan of invalid JSON ends', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (random) => {
      for (const start of [[], [0x7b], [0x5b], [0x7b, 0x22]]) {
        const bytes = new Uint8Array([...start, ...random]);
        const raw = new RawJson(bytes, 0, bytes.length);
        for (const look of [
          () => memberOf(raw, nameBytes('a')),
          () => itemOf(raw, 1),
          () => itemsOf(raw),
          () => membersOf(raw),
        ]) {
          try {
            look();
          } catch (error) {
            assert.ok(error instanceof JsonError, String(error));
          }
        }
      }
    }),
  );
});

test('a scan finds escaped names by their unescaped form', () => {
  const raw = rawOf(String.raw`{"a\u0062": 1, "\"": 2, "ä": 3}`);
  assert.deepEqual(
    ['ab', '"', 'ä', 'a\\u0062'].map((name) => memberOf(raw, nameBytes(name))),
    [1, 2, 3, undefined],
  );
});

test('integers are added, subtracted and multiplied exactly within 64 bits', () => {
  const big = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const operations = [
    [add, (a: bigint, b: bigint) => a + b],
    [subtract, (a: bigint, b: bigint) => a - b],
    [multiply, (a: bigint, b: bigint) => a * b],
  ] as const;
  fc.assert(
    fc.property(big, big, fc.constantFrom(...operations), (a, b, [operation, exact]) => {
      const result = operation(integerValue(a), integerValue(b));
      const expected = exact(a, b);
      if (expected >= -(2n ** 63n) && expected < 2n ** 63n)
        assert.equal(BigInt(result as number | bigint), expected);
      else assert.equal(result, Number(expected));
    }),
  );
  assert.equal(add(2 ** 53, 1), 2n ** 53n + 1n);
  assert.equal(divide(1, 0), null);
  assert.equal(divideIntegers(7, -2), -3);
  assert.equal(moduloIntegers(-7, 2), -1);
  assert.equal(add('a', undefined), undefined);
  assert.equal(add('a', 1), null);
  assert.equal(negate(2n ** 60n + 1n), -(2n ** 60n) - 1n);
});

test('every value has one type', () => {
  const raw = ['{}', '[]', '""', 'true', 'null', '1'].map((text) => typeName(rawOf(text)));
  assert.deepEqual(raw, ['object', 'array', 'string', 'boolean', 'null', 'number']);
  const parsed: Value[] = [undefined, null, true, 1, 1n, '', [], newObject(), new Binary(new Uint8Array())];
  assert.deepEqual(parsed.map(typeName), [
    'missing',
    'null',
    'boolean',
    'number',
    'number',
    'string',
    'array',
    'object',
    'binary',
  ]);
  assert.equal(parseJson(new TextEncoder().encode('[1]'), 1, 2), 1);
});
