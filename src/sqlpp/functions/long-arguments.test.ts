import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { SqlError } from '../errors/sql-error.ts';
import { countSteps, renewSteps, stepsMax } from '../values/step-limit.ts';
import { newObject, type Value } from '../values/value.ts';
import { functionNamed } from './catalog.ts';
import type { EvaluationContext } from './context.ts';
import { likePattern } from './like-patterns.ts';
import { RegularExpression } from './regular-expressions.ts';
import { indexOfText, TextSearch } from './text-search.ts';

beforeEach(renewSteps);

function call(name: string, ...values: readonly Value[]): Value {
  renewSteps();
  return callWithStepsLeft(name, values);
}

function callWithStepsLeft(name: string, values: readonly Value[]): Value {
  const declaration = functionNamed(name);
  assert.ok(declaration, name);
  return declaration.run(values, { timeZone: 'UTC' } as EvaluationContext, {});
}

const million = 1_000_000;
const long = 'a'.repeat(6 * million);
/** The texts below are a tenth of the longest ones, and so are the steps: what a full statement computes, or is refused, is the same here. */
const stepsHere = stepsMax / 10;
/** Matches the text up to its middle from every position. */
const almost = `${'a'.repeat(million)}b${'a'.repeat(million)}`;
const members = (fields: Readonly<Record<string, Value>>): Value => Object.assign(newObject(), fields);

const integers = Array.from({ length: million }, (_, at) => at);
const halves = integers.map((integer) => integer + 0.5);
const small = integers.map((a) => members({ a }));
const large = members(Object.fromEntries(integers.slice(0, 200_000).map((name) => [`k${name}`, 1])));

/** One array many times, as ARRAY_REPEAT makes it. */
const nested = Array.from({ length: 3 }).reduce<Value>((value) => Array<Value>(1_000).fill(value), 1);

/** Each of these would take from minutes to years if its steps grew with the product of lengths. */
const products: Readonly<Record<string, readonly [name: string, ...values: Value[]]>> = {
  'a position of a long text': ['position', long, almost],
  'whether a text contains a long one': ['contains', long, almost],
  'a replacement of a long text': ['replace', long, almost, ''],
  'parts between long texts': ['split', long, almost],
  'a LIKE with a long literal': ['like', long, `%${almost}%`],
  'a LIKE with single characters': ['like', long, `%a_${almost}%`],
  'the suffix of a LIKE pattern of wildcards': ['like_suffix', '%'.repeat(6 * million)],
  'the words before signs': ['tokens', `a${'!'.repeat(million)}a`, members({ specials: true })],
  'a number of digits and a letter': ['tonumber', `${'1'.repeat(million)}a`],
  'a number of a million digits': ['tonumber', '1'.repeat(5 * million)],
  'a duration of a million digits': ['str_to_duration', '1'.repeat(million)],
  'a mask of many injected characters': [
    'mask',
    'a'.repeat(million),
    members({ mask: '#'.repeat(million), inject: `${'x'.repeat(3 * million)}#` }),
  ],
  'a match of a large pattern as a whole': ['regexp_like', long, '.*a.{1000}.*c'],
  'the position of a match of a large pattern': ['regexp_position', long, '(?:.{450}a|.{400}b){2}c|d$'],
  'matches that each read the whole text': ['regexp_matches', 'ab'.repeat(million), 'a.*c|b|.*d'],
  'a long literal as a regular expression': [
    'regexp_contains',
    long,
    `${'a'.repeat(4_000)}b${'a'.repeat(4_000)}`,
  ],
  'whether an array contains one of another': ['array_contains_any', integers, halves],
  'whether an array contains all of another': ['array_contains_all', integers, integers],
  'whether an array of objects contains a large one': ['array_contains', small, large],
  'the position of a large object': ['array_position', small, large],
  'an array without a large object': ['array_remove', small, large],
  'the largest of many large objects': ['array_max', Array<Value>(100_000).fill(large)],
  'the different items of a long array': [
    'array_distinct',
    [...integers, ...halves].flatMap((n) => [n, -n, n / 8, n / 3]),
  ],
  'the pairs of a billion items': ['pairs', nested],
  'the paths of a billion items': ['object_paths', members({ a: nested })],
  'the paths and values of a billion items': ['object_pairs_nested', nested],
  'the matching members of a billion items': ['object_filter', nested, members({ pattern: 'x' })],
  'the words of a billion items': ['tokens', nested],
  'whether one of a billion items is a word': ['contains_token', nested, 'word'],
  'the schema of a billion items': ['infer_value', nested, members({ num_sample_values: 0 })],
  'a billion items in one array': ['array_flatten', nested, -1],
  'the members of a large object in many items': ['array_star', Array<Value>(30_000).fill(large)],
  'the members of items with different names': [
    'array_star',
    integers.slice(0, 100_000).map((n) => members({ [`k${n}`]: n })),
  ],
  'an object without many of its members': [
    'object_remove',
    large,
    ...integers.slice(0, 30_000).map((n) => `x${n}`),
  ],
  'a path of many steps': ['object_field', large, 'a.'.repeat(million)],
  'a long text in upper case': ['upper', 'ß'.repeat(2 * million)],
  'a long text in lower case': ['lower', 'Ω'.repeat(6 * million)],
  'the capitals of many words': ['title', 'ω '.repeat(0.8 * million)],
  'the MD4 of a long text': ['hashbytes', long, 'md4'],
  'a date in a long format': ['millis_to_str', 0, `2006${'x'.repeat(6 * million)}`],
  'a date with a year of many digits': ['millis_to_str', 0, '%400000000Y'],
  'a pattern of 200,000 instructions': ['regexp_like', long, '\\pL{1000}'.repeat(200)],
};

for (const [title, [name, ...values]] of Object.entries(products))
  test(`computes ${title}, or refuses it, in a bounded number of steps`, () => {
    countSteps(stepsMax - stepsHere);
    try {
      callWithStepsLeft(name, values);
    } catch (error) {
      assert.ok(error instanceof SqlError && [5010, 5035].includes(error.code), String(error));
    }
  });

test('long texts have the results of short ones', () => {
  const text = `${'ab'.repeat(million)}c`;
  assert.equal(call('position', text, 'c'), 2 * million);
  assert.equal(call('contains', text, 'ba'.repeat(1_000)), true);
  assert.equal(call('replace', `${'x'.repeat(million)}yx`, 'y', ''), 'x'.repeat(million + 1));
  assert.equal((call('replace', text, 'c', 'dd') as string).length, 2 * million + 2);
  assert.equal((call('split', `${'word '.repeat(million)}end`, ' ') as Value[]).length, million + 1);
  assert.equal(call('like', text, '%bc'), true);
  assert.equal(call('like', text, 'a%_b_%c'), true);
  assert.equal(call('trim', `${' '.repeat(million)}${text} `), text);
  assert.equal((call('reverse', text) as string).slice(0, 3), 'cba');
  assert.equal(call('regexp_position', text, 'b+c'), 2 * million - 1);
  assert.equal(call('regexp_like', text, '(ab)*c'), true);
  assert.equal(
    (call('regexp_replace', `${'a1 '.repeat(million)}`, '[0-9]', '') as string).length,
    2 * million,
  );
  assert.equal((call('regexp_matches', 'a1 '.repeat(100_000), '[a-z]') as Value[]).length, 100_000);
});

test('a search without V8 finds what V8 finds', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
  fc.assert(
    fc.property(letters, letters, letters, (before, searched, after) => {
      renewSteps();
      // Repeated so that the product of the lengths is above the limit of V8's search.
      const long = `${`${searched}c`.repeat(3_000)}${searched}`;
      const text = `${`${before}${after}c`.repeat(40_000)}${long}${after}${'b'.repeat(200_000)}`;
      const search = new TextSearch(long, text.length);
      assert.equal(search.find(text), text.indexOf(long));
      assert.equal(search.find(text, 1), text.indexOf(long, 1));
    }),
    { numRuns: 20 },
  );
  assert.equal(indexOfText('', ''), 0);
  assert.equal(indexOfText('a', 'ab'), -1);
});

test('splitting, replacing and trimming agree with the methods of strings', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\u{1f600}'), maxLength: 20 });
  const count = fc.integer({ min: 0, max: 4 });
  fc.assert(
    fc.property(text, text, text, count, (whole, searched, by, times) => {
      const repeated = whole.repeat(600);
      assert.deepEqual(
        call('split', repeated, searched),
        searched === '' ? [...repeated] : repeated.split(searched),
      );
      assert.deepEqual(
        call('split', repeated),
        repeated.split(/\s+/).filter((word) => word !== ''),
      );
      assert.deepEqual(call('split', whole, searched), searched === '' ? [...whole] : whole.split(searched));
      assert.deepEqual(
        call('split', whole),
        whole.split(/\s+/).filter((word) => word !== ''),
      );
      if (searched !== '') assert.equal(call('replace', whole, searched, by), whole.split(searched).join(by));
      else assert.equal(call('replace', whole, '', by), ['', ...whole, ''].join(by));
      let left = times;
      const some = whole.replace(/a/g, () => (left-- > 0 ? by : 'a'));
      assert.equal(call('replace', whole, 'a', by, times), some);
      assert.equal(call('trim', whole), whole.trim());
      assert.equal(call('rtrim', whole, '\u{1f600}'), whole.replace(/\u{1f600}+$/u, ''));
    }),
  );
});

test('a long text in base64 is decoded', () => {
  assert.equal(call('base64_decode', Buffer.from(`"${long}"`).toString('base64')), long);
  for (const wrong of ['a', 'YQ=', 'Y===', '====', 'YQ==YQ==', 'Y Q='])
    assert.equal(call('base64_decode', wrong), null);
});

test('LIKE counts a pair of surrogates as one character, also from the end', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['\u{1f600}a', '_a', true],
    ['\u{1f600}a', '__a', false],
    ['x\u{1f600}', '%x_', true],
    ['x\u{1f600}', '%x__', false],
    ['ab\u{1f600}c', '%b_c', true],
    ['ab', '%b_%', false],
    ['ab', 'a_b', false],
    ['', '_', false],
    ['', '%', true],
  ];
  for (const [text, pattern, isMatch] of cases)
    assert.equal(likePattern(pattern, '\\')(text), isMatch, `${text} ${pattern}`);
});

test('a match of a regular expression does not depend on the text that it was matched with before', () => {
  const expression = new RegularExpression('x+y');
  assert.equal(expression.test(`${'a'.repeat(5_000)}xy`), true);
  assert.equal(expression.search(`${'a'.repeat(6_000)}xxy`), 6_000);
  assert.equal(expression.test('a'.repeat(5_002)), false);
});

test('a long range of dates takes few of the steps', () => {
  const [start, end] = ['1960-01-01T00:00:00.000Z', '2049-01-01T00:00:00.000Z'];
  const dates = call('date_range_str', start, end, 'day') as readonly Value[];
  assert.equal(dates.length, 32_508);
  assert.equal(dates.at(-1), '2048-12-31T00:00:00Z');
});

test('functions of dates parse a format once for all rows, and again after it has changed', () => {
  const format = `YYYY-MM-DD ${'x'.repeat(10_000)}`;
  const rest = 'x'.repeat(10_000);
  const millis = Date.UTC(2020, 1, 3);
  const context = { timeZone: 'UTC' } as EvaluationContext;
  for (const [name, first, second, other] of [
    ['date_format_str', '2020-02-03', `2020-02-03 ${rest}`, '2020'],
    ['millis_to_str', millis, `2020-02-03 ${rest}`, '2020'],
    ['str_to_millis', `2020-02-03 ${rest}`, millis, null],
  ] as const) {
    const declaration = functionNamed(name) ?? assert.fail(name);
    const memo = {};
    renewSteps();
    for (let row = 0; row < 1_000; row++)
      assert.equal(declaration.run([first, format], context, memo), second);
    assert.equal(declaration.run([first, 'YYYY'], context, memo), other, name);
  }
});
