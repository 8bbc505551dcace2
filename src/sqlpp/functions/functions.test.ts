import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { outOfRange } from '../../../test/support/sql-errors.ts';
import { SqlError } from '../errors/sql-error.ts';
import { Binary, newObject, type Value } from '../values/value.ts';
import { aggregateNames } from './aggregates.ts';
import { declarations, functionNamed } from './catalog.ts';
import type { EvaluationContext } from './context.ts';
import type { FunctionDeclaration } from './declaration.ts';
import { examples } from './examples.ts';
import { RegularExpression } from './regular-expressions.ts';
import { RunningMedian } from './running-median.ts';
import { RunningVariance } from './running-variance.ts';

const context: EvaluationContext = {
  positional: [],
  named: new Map(),
  startedMs: Date.UTC(2026, 10, 22, 12, 30, 15, 250),
  clockMs: () => Date.UTC(2026, 10, 22, 12, 30, 16, 500),
  random: () => 0.5,
  uuid: () => '00000000-0000-4000-8000-000000000000',
  timeZone: 'UTC',
  subquery: () => [],
  userCall: () => null,
  serviceCall: () => null,
};

const plain = declarations.filter(({ isSpecial }) => !isSpecial);

/** Calls a function as a statement does: the declaration decides how NULL and MISSING propagate. */
function call(declaration: FunctionDeclaration, values: readonly Value[]): Value {
  const { nulls } = declaration;
  if (nulls !== 'own' && values.includes(undefined)) return undefined;
  if (nulls === 'propagate' && values.includes(null)) return null;
  return declaration.run(values, context, {});
}

const samples: readonly Value[] = [
  true,
  0,
  -1,
  1.5,
  2n ** 60n + 1n,
  Number.NaN,
  '',
  'text',
  // The name of a property that every JavaScript object inherits.
  'constructor',
  '2026-11-22T12:30:15Z',
  [],
  [1, 'two', null, [3]],
  newObject(),
  Object.assign(newObject(), { a: 1, b: ['x'] }),
  new Binary(new Uint8Array([1, 2])),
];

test('names and synonyms are unique, and none is an aggregate', () => {
  const names = declarations.flatMap(({ name, synonyms }) => [name, ...synonyms]);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(
    names.filter((name) => aggregateNames().includes(name)),
    [],
  );
  assert.deepEqual(
    names.filter((name) => name !== name.toLowerCase()),
    [],
  );
  assert.equal(functionNamed('coalesce'), functionNamed('ifmissingornull'));
  assert.ok(names.length >= 345, String(names.length));
});

test('the signature determines how many arguments a function takes', () => {
  const counts = (name: string): readonly (number | undefined)[] => [
    functionNamed(name)?.minimum,
    functionNamed(name)?.maximum,
  ];
  assert.deepEqual(counts('pi'), [0, 0]);
  assert.deepEqual(counts('lower'), [1, 1]);
  assert.deepEqual(counts('random'), [0, 1]);
  assert.deepEqual(counts('array_insert'), [3, 32_767]);
  assert.deepEqual(counts('decode'), [3, 32_767]);
  assert.deepEqual(counts('slice'), [1, 3]);
});

for (const declaration of plain) {
  const { name, minimum, maximum, nulls } = declaration;
  const most = Math.min(maximum, minimum + 2);
  if (most === 0) continue;
  test(`${name.toUpperCase()} handles NULL, MISSING and every type as declared`, () => {
    for (let count = Math.max(1, minimum); count <= most; count++) {
      for (const sample of samples) {
        for (let at = 0; at < count; at++) {
          for (const special of [undefined, null, ...samples]) {
            const values = new Array<Value>(count).fill(sample).with(at, special);
            let result: Value;
            try {
              result = call(declaration, values);
            } catch (error) {
              assert.ok(error instanceof SqlError, `${name}: ${String(error)}`);
              continue;
            }
            if (special === undefined && nulls !== 'own') assert.equal(result, undefined);
            if (special === null && nulls === 'propagate') assert.equal(result, null);
            assertValue(result);
          }
        }
      }
    }
  });
}

/** Asserts that a result is a value of the language. */
function assertValue(value: Value): void {
  if (Array.isArray(value)) for (const item of value) assertValue(item);
  else if (typeof value === 'object' && value !== null && !(value instanceof Binary)) {
    assert.equal(Object.getPrototypeOf(Object.getPrototypeOf(value)), null, 'an object inherits nothing');
    for (const member of Object.values(value)) assertValue(member);
  } else
    assert.ok(
      value === null ||
        ['undefined', 'boolean', 'number', 'bigint', 'string', 'object'].includes(typeof value),
    );
}

test('no argument makes a function fail with an error other than a SqlError', () => {
  const value = fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 2 },
      fc.constantFrom(...samples),
      fc.string(),
      fc.integer({ min: -50, max: 50 }),
      fc.double(),
      fc.constantFrom(
        'year',
        'month',
        'UTC',
        'Europe/Berlin',
        '%Y-%m',
        'YYYY',
        '(a|b)*',
        '[[:alpha:]]+',
        '1111-11-11',
      ),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  })).value;
  fc.assert(
    fc.property(fc.constantFrom(...plain), fc.array(value, { maxLength: 4 }), (declaration, values) => {
      const count = Math.min(Math.max(values.length, declaration.minimum), declaration.maximum);
      const list = Array.from({ length: count }, (_, at) => values[at % Math.max(1, values.length)]);
      try {
        assertValue(call(declaration, list));
      } catch (error) {
        assert.ok(
          error instanceof SqlError,
          `${declaration.name}(${JSON.stringify(list, (_, member) => (typeof member === 'bigint' ? `${member}n` : member))}): ${String(error)}`,
        );
      }
    }),
    { numRuns: 5000 },
  );
});

test('a function refuses to create an oversized result', () => {
  const refused = (name: string, ...values: Value[]): void => {
    assert.throws(() => call(functionNamed(name) as FunctionDeclaration, values), outOfRange, name);
  };
  refused('repeat', 'a', 10_000_000_000);
  refused('array_repeat', 'a', 10_000_000_000);
  refused('array_range', 0, 10_000_000_000);
  refused('array_range', 0, Infinity);
  refused('lpad', 'a', 10_000_000_000);
  refused('date_range_millis', 0, 1e15, 'millisecond');
  refused('date_range_str', '1980-01-01', '9999-12-31', 'day');
});

test('rounding to a place beyond the range of doubles gives the number or 0', () => {
  const resultOf = (name: string, ...values: Value[]): Value =>
    call(functionNamed(name) as FunctionDeclaration, values);
  for (const name of ['round', 'round_nearest', 'trunc']) {
    assert.equal(resultOf(name, 1e300, 10), 1e300, name);
    assert.equal(resultOf(name, -1e300, 10), -1e300, name);
    assert.equal(resultOf(name, 1.5, 400), 1.5, name);
    assert.equal(resultOf(name, 1234.5, -400), 0, name);
    assert.equal(resultOf(name, -Infinity, 2), -Infinity, name);
  }
  assert.equal(resultOf('round', 2.5, 0), 2);
  assert.equal(resultOf('round_nearest', -2.5, 0), -3);
  assert.equal(resultOf('trunc', -2.567, 1), -2.5);
});

test('a repeated character outside the basic plane is not part of the prefix of a pattern', () => {
  const prefixOf = (pattern: string): Value =>
    call(functionNamed('regexp_prefix') as FunctionDeclaration, [pattern]);
  assert.equal(prefixOf('x😀*'), 'x');
  assert.equal(prefixOf('x😀'), 'x😀');
  assert.equal(prefixOf('ab?'), 'a');
});

test('regular expressions have the syntax of RE2', () => {
  const matches = (pattern: string, text: string): boolean => new RegularExpression(pattern).test(text);
  assert.ok(matches('(?i)ABC', 'xabc'));
  assert.ok(matches('^[[:alpha:]_]+$', 'ab_c'));
  assert.ok(!matches('^[[:digit:]]+$', 'a'));
  assert.ok(matches('\\Qa.b\\E', 'a.b'));
  assert.ok(!matches('\\Qa.b\\E', 'axb'));
  assert.ok(matches('(?P<name>a)b', 'ab'));
  assert.ok(matches('\\Aab\\z', 'ab'));
  assert.ok(matches('[]a]', ']'));
  assert.ok(matches('[^]a]', 'b'));
  assert.ok(matches('\\p{L}+', 'ä'));
  assert.ok(matches('[[]', '['));
  for (const pattern of ['(a)\\1', '(?=a)', '(?!a)', '(?<=a)b', '(?<!a)b', '(', '[a', 'a**']) {
    assert.throws(() => new RegularExpression(pattern), SqlError, pattern);
  }
  assert.throws(() => new RegularExpression('a'.repeat(20_000)), /at most/);
});

test('nested repetitions match in linear time', () => {
  const text = `${'a'.repeat(100_000)}!`;
  for (const pattern of ['(a+)+$', '(?i)(a+)+$', '(a|aa)+$', '(\\p{L}+)+$', '(a{1,30})+$'])
    assert.ok(!new RegularExpression(pattern).test(text), pattern);
  assert.throws(() => new RegularExpression('((a{1,100}){1,100}){1,100}'), SqlError);
});

test('successive matches are the same as in Go', () => {
  const matchesOf = (pattern: string, text: string) =>
    [...new RegularExpression(pattern).matches(text)].map((match) => match.text);
  assert.deepEqual(matchesOf('a*', 'baaac'), ['', 'aaa', '']);
  assert.deepEqual(matchesOf('x*', 'ab'), ['', '', '']);
  assert.deepEqual(matchesOf('.', 'ä😀z'), ['ä', '😀', 'z']);
  assert.deepEqual(matchesOf('z', 'a'), []);
});

test('every function has an example, and every example a function', () => {
  const names = plain
    .filter(({ name }) => name !== 'uuid' && !/^(?:clock|now)_/.test(name))
    .map(({ name }) => name);
  assert.deepEqual(Object.keys(examples).sort(), names.sort());
});

const integers = fc.tuple(
  fc.constantFrom(0, 1_700_000_000_000, -(2 ** 52)),
  fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 2, maxLength: 50 }),
  fc.boolean(),
);

test('variances of numbers that are added one by one are exact but for the last digit', () => {
  fc.assert(
    fc.property(integers, ([base, distances, fromZero]) => {
      const numbers = distances.map((distance) => base + distance);
      if (fromZero) numbers[0] = 0;
      const variance = new RunningVariance();
      let [count, sum, squares] = [0n, 0n, 0n];
      for (const number of numbers) {
        variance.add(number);
        count++;
        sum += BigInt(number);
        squares += BigInt(number) ** 2n;
        const exact = Number(((count * squares - sum ** 2n) << 200n) / count ** 2n) / 2 ** 200;
        assert.ok(Math.abs(variance.result(0) - exact) <= exact * 2 ** -51, `${numbers}`);
      }
    }),
  );
});

test('variances of numbers that are too large are infinite, those of infinite numbers are no numbers', () => {
  const varianceOf = (...numbers: number[]): number => {
    const variance = new RunningVariance();
    for (const number of numbers) variance.add(number);
    return variance.result(1);
  };
  assert.equal(varianceOf(1e200, 1e200, 1e200), 0);
  assert.equal(varianceOf(1e200, -1e200, 1), Number.POSITIVE_INFINITY);
  assert.equal(varianceOf(1.5e308, -1.5e308), Number.POSITIVE_INFINITY);
  assert.equal(varianceOf(1, Number.POSITIVE_INFINITY), Number.NaN);
  assert.equal(varianceOf(Number.NEGATIVE_INFINITY, 1), Number.NaN);
  assert.equal(varianceOf(0.1, 0.1, 0.1), 0);
});

test('medians of numbers that are added one by one are those of the sorted numbers', () => {
  const numbers = fc.array(
    fc.oneof(fc.integer({ min: -9, max: 9 }), fc.bigInt({ min: 2n ** 60n, max: 2n ** 60n + 3n })),
  );
  fc.assert(
    fc.property(numbers, (all) => {
      const median = new RunningMedian();
      assert.equal(median.result(), null);
      const sorted: (number | bigint)[] = [];
      for (const number of all) {
        median.add(number);
        sorted.push(number);
        sorted.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
        const middle = sorted.length >> 1;
        const expected =
          sorted.length % 2 === 1
            ? sorted[middle]
            : (Number(sorted[middle - 1]) + Number(sorted[middle])) / 2;
        const found = median.result();
        if (sorted.length % 2 === 1) assert.equal(found, expected);
        else assert.ok(Math.abs(Number(found) - Number(expected)) <= Math.abs(Number(expected)) * 2 ** -51);
      }
    }),
  );
});
