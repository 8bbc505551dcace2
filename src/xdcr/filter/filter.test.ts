import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DocumentFilter, type FilteredDocument } from './document-filter.ts';
import { documents, filterExamples } from './examples.ts';
import { filterProblem } from './filter.contract.ts';
import { mirroredPattern, mirroredText } from './mirrored-pattern.ts';
import { filterLimits } from './parser.ts';
import { patternLimits } from './text-pattern.ts';

interface Given {
  body?: unknown;
  xattrs?: object;
  expiration?: number;
}

function aDocument(
  name: string,
  { body, xattrs = {}, expiration = 0 }: Given,
  text?: string,
): FilteredDocument {
  return {
    key: `key::${name}`,
    expiration,
    isJson: body !== undefined || text !== undefined,
    xattr: (key) =>
      Object.hasOwn(xattrs, key)
        ? Buffer.from(JSON.stringify((xattrs as Record<string, unknown>)[key]))
        : null,
    body: () => Buffer.from(text ?? JSON.stringify(body)),
  };
}

const testOn = (expression: string, document: FilteredDocument) =>
  new DocumentFilter(expression).test(document);

test('the examples match the documents that they name', () => {
  assert.ok(filterExamples.length >= 150);
  for (const [expression, matching] of filterExamples) {
    const filter = new DocumentFilter(expression);
    const found = Object.entries(documents).filter(
      ([name, given]) => filter.test(aDocument(name, given)) === 'matches',
    );
    assert.equal(found.map(([name]) => name).join(','), matching, expression);
  }
});

test('whole numbers that a double cannot have are compared with all their digits', () => {
  const text = '{"id":9007199254740993,"other":9007199254740992,"list":[9007199254740993]}';
  const document = aDocument('large', {}, text);
  for (const [expression, result] of [
    ['id = 9007199254740993', 'matches'],
    ['id = 9007199254740992', 'unmatched'],
    ['id > 9007199254740992', 'matches'],
    ['id = 9007199254740993.0', 'unmatched'],
    ['-id < -9007199254740992', 'matches'],
    ['id != other', 'matches'],
    ['id = "9007199254740993"', 'matches'],
    ['other = "9007199254740993"', 'unmatched'],
    ['id = TRUE', 'matches'],
    ['list[0] = 9007199254740993', 'matches'],
    ['id > 5 AND id < 1e16', 'matches'],
    ['ABS(id) > 9e15', 'matches'],
    ['EXISTS(id.value)', 'unmatched'],
    ['id IS NOT NULL', 'matches'],
  ] as const)
    assert.equal(testOn(expression, document), result, expression);
});

test('a wrong expression is refused with the position and what would be right', async () => {
  for (const [expression, problem] of [
    [
      'airline',
      /^Filter expression is invalid: at character 1: .*REGEXP_CONTAINS\(META\(\)\.id, "pattern"\)$/,
    ],
    ['airline|hotel', /at character 8: "\|" is not part/],
    ['a = 1 and b = 2', /at character 7: .*write AND$/],
    ['(a = 1 or b = 2)', /at character 8: .*write OR$/],
    ['not a = 1', /at character 1: .*write NOT$/],
    ['a is null', /at character 3: .*write IS$/],
    ['regexp_contains(a, "x")', /at character 1: .*write REGEXP_CONTAINS$/],
    ['abs(a) = 1', /at character 1: .*write ABS$/],
    ['TRUNC(a) = 1', /at character 1: there is no function TRUNC here; the functions are ABS, /],
    ['a = ', /at character 5: the expression ends here; expected a field/],
    ['a = 1 b', /at character 7: found "b"; expected AND, OR or the end/],
    ['(a = 1', /at character 7: the expression ends here; expected \)/],
    ['a = 1)', /at character 6: found "\)"/],
    ['a = b = c', /at character 7: found "="/],
    ['a = NULL', /at character 5: .*write IS NULL/],
    ['a IS 5', /at character 6: found "5"; expected NULL, MISSING/],
    ['5 IS NULL', /at character 1: only fields/],
    ['5', /at character 1: a value alone is no condition/],
    ['a + 1', /at character 1: a value alone is no condition/],
    ['(a = 1) + 2 = 3', /at character 1: a condition is no value/],
    ['EXISTS(5)', /at character 8: found "5"; expected a field/],
    ['AND = 1', /at character 1: AND is a reserved word; write .* `AND`$/],
    ['a.OR = 1', /at character 3: OR is a reserved word/],
    ['a[-1] = 1', /at character 3: found "-"; expected the index of an element, from 0/],
    ['a[1.5] = 1', /at character 3: found "1\.5"/],
    ['a[0 = 1', /at character 5: found "="; expected \]/],
    ['META().xattrs = 1', /at character 1: expected META\(\)\.id, /],
    ['META().cas = 1', /at character 1: expected META\(\)\.id, /],
    ['META() = 1', /at character 1: expected META\(\)\.id, /],
    ['a = "x', /at character 5: the closing " is missing/],
    ['`a = 1', /at character 1: the closing ` is missing/],
    ['REGEXP_CONTAINS(a, b)', /at character 20: found "b"; expected a regular expression in quotes/],
    ['REGEXP_CONTAINS(a, "(")', /at character 20: regular expression: missing closing \)/],
    [
      'REGEXP_CONTAINS(a, "(?<!x)p(?=y)")',
      /at character 20: regular expression: lookahead and lookbehind cannot stand in one expression/,
    ],
    ['REGEXP_CONTAINS(a, "a(?i)b(?=y)")', /at character 20: .*flags stand at the start/],
    ['REGEXP_CONTAINS(a, "\\\\Qa\\\\E(?=y)")', /at character 20: .*\\Q is not available/],
    ['REGEXP_CONTAINS(a, "a(?=p")', /at character 20: .*the closing \) is missing/],
    ['REGEXP_CONTAINS(a, "a(?=p))")', /at character 20: .*an opening parenthesis is missing/],
    ['REGEXP_CONTAINS(a, "[a(?=p)")', /at character 20: .*the closing \] is missing/],
    ['REGEXP_CONTAINS(a, "(?=x{2000})")', /at character 20: /],
    ['REGEXP_CONTAINS(a, "(x{100}){10}y{100}")', /at character 20: .*too many repetitions/],
    ['DATE(a) > DATE("2019-02-30")', /at character 16: DATE has a field or a date in quotes/],
    ['DATE(a) > DATE(5)', /at character 16: DATE/],
    ['POW(a) = 1', /at character 6: found "\)"; expected ,/],
    ['ABS(a, b) = 1', /at character 6: ABS has 1 argument$/],
    ['PI(a) = 1', /at character 4: found "a"; expected \)/],
    ['a = 1e999', /at character 5: the number is too large/],
    ['a @ 1', /at character 3: "@" is not part/],
  ] as const)
    assert.match((await filterProblem(expression)) ?? 'accepted', problem, expression);
  for (const none of ['', '  ']) assert.equal(await filterProblem(none), null);
});

test('an expression has a bounded length and depth, and a bounded number and length of regular expressions', async () => {
  const nested = (count: number) => `${'('.repeat(count)}a = 1${')'.repeat(count)}`;
  const { depth, characters, patterns } = filterLimits;
  const patternCharacters = patternLimits.characters;
  const withPatterns = (count: number) => Array(count).fill('REGEXP_CONTAINS(a, "x")').join(' OR ');
  const sum = (count: number) => `${'a + '.repeat(count)}a = 1`;
  for (const [accepted, refused, problem] of [
    [nested(depth), nested(depth + 1), /nested at most 64 deep/],
    [`${'NOT '.repeat(depth)}a = 1`, `${'NOT '.repeat(depth + 1)}a = 1`, /nested at most/],
    [`a = ${'- '.repeat(depth)}1`, `a = ${'- '.repeat(depth + 1)}1`, /nested at most/],
    [sum(depth), sum(depth + 1), /at most 64 operators in a row/],
    [withPatterns(patterns), withPatterns(patterns + 1), /at most 20 regular expressions/],
    [`a = 1${' '.repeat(characters - 5)}`, `a = 1${' '.repeat(characters - 4)}`, /at most 8192 characters/],
    [
      `REGEXP_CONTAINS(a, "${'x'.repeat(patternCharacters - 10)}")`,
      `REGEXP_CONTAINS(a, "${'x'.repeat(patternCharacters + 1)}")`,
      /at most 1000 characters/,
    ],
  ] as const) {
    assert.equal(await filterProblem(accepted), null, accepted.slice(0, 50));
    assert.match((await filterProblem(refused)) ?? 'accepted', problem);
  }
});

test('documents without fields match as published', () => {
  const binary = aDocument('x', {});
  assert.equal(testOn('a = 1', binary), 'matches');
  assert.equal(testOn('REGEXP_CONTAINS(META().id, "x")', binary), 'matches');
  assert.equal(testOn('REGEXP_CONTAINS(META().id, "z")', binary), 'unmatched');
  assert.equal(testOn('META().id = "key::x" AND a = 1', binary), 'unmatched');
  for (const text of ['[1]', '5', '"x"', 'null', '{"a":', ''])
    assert.deepEqual(
      [testOn('a = 1', aDocument('x', {}, text)), testOn('META().id = "key::x"', aDocument('x', {}, text))],
      ['unfilterable', 'matches'],
      text,
    );
});

test('a text that is too long for its regular expression is not searched', () => {
  const filter = new DocumentFilter('REGEXP_CONTAINS(a, "([a-z]{10}){20}$")');
  assert.equal(filter.test(aDocument('x', { body: { a: 'x'.repeat(10_000) } })), 'matches');
  assert.equal(filter.test(aDocument('x', { body: { a: 'x'.repeat(1_000_000) } })), 'unfilterable');
});

test('a document whose other values are nested deep is filtered by an expression that compares two fields', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const [b, result] of [
    [1, 'matches'],
    [2, 'unmatched'],
  ] as const)
    assert.equal(testOn('a = b', aDocument('deep', {}, `{"a":1,"b":${b},"deep":${deep}}`)), result);
});

test('a document whose values are nested too deep to compare is unfilterable, unless the expression does not compare them', () => {
  const text = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
  assert.equal(testOn('a = a', aDocument('x', {}, text)), 'unfilterable');
  assert.equal(testOn('EXISTS(a)', aDocument('x', {}, text)), 'matches');
});

/** Parts of expressions; most sequences of them are refused. */
const parts = [
  'a',
  'b.c',
  'a[0]',
  '`x y`',
  'META().id',
  'META().xattrs.t',
  'META().expiration',
  '1',
  '-2.5',
  '"x"',
  "'(a+)+$'",
  'TRUE',
  'FALSE',
  'NULL',
  '=',
  '!=',
  '<',
  '>=',
  '+',
  '-',
  '*',
  '/',
  '%',
  '(',
  ')',
  ',',
  'AND',
  'OR',
  'NOT',
  'IS',
  'MISSING',
  'EXISTS(',
  'REGEXP_CONTAINS(',
  'DATE(',
  'ABS(',
  'POW(',
  'PI()',
  '&&',
  '||',
  '!',
  '`',
  '"',
  '[',
  '.',
];

test('random expressions are refused or matched, and never fail', async () => {
  const body = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'x y'), fc.jsonValue());
  const operand = fc.constantFrom(
    'a',
    'b.c',
    'a[0]',
    '`x y`',
    'META().id',
    'META().xattrs.t',
    '1',
    '-2.5',
    '"x"',
    'TRUE',
    'DATE("2019")',
    'a + b.c',
    'a / 0',
    'ABS(a)',
    'POW(a, b.c)',
    'DATE(a)',
    '-c',
    'PI()',
    'LN(-1)',
    'a % b.c',
  );
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 5 },
      fc
        .tuple(operand, fc.constantFrom('=', '!=', '<', '<=', '>', '>='), operand)
        .map((all) => all.join(' ')),
      fc.constantFrom('a IS NULL', 'b.c IS NOT MISSING', 'EXISTS(a[0])', 'REGEXP_CONTAINS(a, "(x+x+)+y")'),
      fc.tuple(tie('condition'), fc.constantFrom('AND', 'OR'), tie('condition')).map((all) => all.join(' ')),
      tie('condition').map((one) => `NOT (${one})`),
    ),
  }));
  const anyParts = fc.array(fc.constantFrom(...parts), { maxLength: 30 }).map((all) => all.join(' '));
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyParts, fc.string({ maxLength: 60 })), body, async (expression, given) => {
      if (expression.trim() === '' || (await filterProblem(expression)) !== null) return;
      assert.ok(['matches', 'unmatched'].includes(testOn(expression, aDocument('x', { body: given }))));
    }),
    { numRuns: 1000 },
  );
  fc.assert(
    fc.property(condition, body, (expression, given) => {
      const document = aDocument('x', { body: given, xattrs: { t: given } });
      const [is, isNot] = [testOn(expression, document), testOn(`NOT (${expression})`, document)];
      assert.deepEqual([is, isNot].sort(), ['matches', 'unmatched'], expression);
    }),
    { numRuns: 500 },
  );
});

test('regular expressions with lookahead or lookbehind match the same texts as in JavaScript', () => {
  const pieces = [
    'a',
    'b',
    '.',
    '[^a]',
    '\\w',
    '^',
    '$',
    '\\b',
    '(?=b)',
    '(?!a)',
    '(?=a|bb)',
    '(?!b(?!a))',
    '(b)',
  ];
  const lookbehindPieces = ['a', 'b', '(?<=a)', '(?<!b)', '(?<=(?:a|b)b)', '$'];
  const quantified = (from: readonly string[]) =>
    fc
      .array(fc.tuple(fc.constantFrom(...from), fc.constantFrom('', '', '*', '+?', '{1,2}')), {
        minLength: 1,
        maxLength: 6,
      })
      .map((all) =>
        all.map(([piece, count]) => (/^(?:\(\?|[$^]|\\b)/.test(piece) ? piece : piece + count)).join(''),
      );
  const grouped = (from: readonly string[]) =>
    fc.oneof(
      quantified(from),
      fc.tuple(quantified(from), quantified(from)).map(([one, other]) => `(?:${one}|${other})`),
      fc.tuple(quantified(from), quantified(from)).map(([one, other]) => `(${one})*${other}`),
    );
  const text = fc
    .array(fc.constantFrom('a', 'b', ' ', 'é', '😀'), { maxLength: 8 })
    .map((all) => all.join(''));
  fc.assert(
    fc.property(fc.oneof(grouped(pieces), grouped(lookbehindPieces)), text, (pattern, given) => {
      const filter = new DocumentFilter(`REGEXP_CONTAINS(META().id, "${pattern.replaceAll('\\', '\\\\')}")`);
      const document = { ...aDocument('', {}), key: given };
      const expected = new RegExp(pattern, 'u').test(given) ? 'matches' : 'unmatched';
      assert.equal(filter.test(document), expected, JSON.stringify([pattern, given]));
    }),
    { numRuns: 1000 },
  );
});

test('a regular expression is mirrored part by part', () => {
  for (const [pattern, mirrored] of [
    ['^air(?=p)', '(?<=p)ria$'],
    ['(?i)ab+|c{2,}?d', '(?i)b+a|dc{2,}?'],
    ['(?P<x>a[^]b]\\))c\\x{1F600}', '\\x{1F600}c(?:\\)[^]b]a)'],
    ['\\Aa\\pL(?i:bc)', '(?i:cb)\\pLa\\z'],
    ['[[:alpha:]x]y😀', '😀y[[:alpha:]x]'],
  ] as const)
    assert.equal(mirroredPattern(pattern), mirrored);
  assert.equal(mirroredText('a😀é'), 'é😀a');
});
