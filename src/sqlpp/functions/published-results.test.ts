// Results of functions as the documentation or the sources of the published server determine them, for arguments that the statement suites lack.
import assert from 'node:assert/strict';
import test from 'node:test';
import { compile } from '../expressions/compile.ts';
import { evaluationContext } from '../expressions/evaluation-context.fixture.ts';
import { parseExpression } from '../text/parser.ts';
import { jsonText } from '../values/json-text.ts';

const context = evaluationContext();

function assertResults(cases: readonly (readonly [expression: string, json: string])[]): void {
  for (const [expression, json] of cases)
    assert.equal(jsonText(compile(parseExpression(expression))([], context)), json, expression);
}

test('ARRAY_SORT puts MISSING before NULL', () => {
  assertResults([
    ['ARRAY_SORT([null, 1, missing, "x"])', '[null,null,1,"x"]'],
    ['ARRAY_SORT([3, missing, 1])', '[null,1,3]'],
    ['ARRAY_SORT([missing])', '[null]'],
  ]);
});

test('REGEXP_MATCHES and REGEXP_SPLIT return an empty array if the pattern matches nothing', () => {
  assertResults([
    ['REGEXP_MATCHES("abc", "[0-9]")', '[]'],
    ['REGEXP_SPLIT("abc", "[0-9]")', '[]'],
    ['REGEXP_MATCHES("a1", "[0-9]")', '["1"]'],
    ['REGEXP_SPLIT("a1", "[0-9]")', '["a"]'],
  ]);
});

test('TITLE begins words after white space and ASCII punctuation only', () => {
  assertResults([
    ['TITLE("hello-world foo_bar IT\'S a1b")', '"Hello-World Foo_bar It\'S A1b"'],
    ['TITLE("e\\u0301a o’neil a–b 😀abc")', '"E\u0301a O’neil A–b 😀abc"'],
    ['TITLE("a\\u00a0b\\u2003c éCOLE")', '"A\u00a0B\u2003C École"'],
    ['INITCAP("ǳabc ǉ აბ")', '"ǲabc ǈ აბ"'],
  ]);
});

test('functions of milliseconds round fractions down, also before 1970', () => {
  assertResults([
    ['MILLIS_TO_UTC(-0.5)', '"1969-12-31T23:59:59.999Z"'],
    ['MILLIS_TO_UTC(1.9999)', '"1970-01-01T00:00:00.001Z"'],
    ['DATE_PART_MILLIS(-1.5, "millisecond")', '998'],
  ]);
});

test('OBJECT_PAIRS_NESTED lists a MISSING item of an array with NULL', () => {
  assertResults([
    [
      'OBJECT_PAIRS_NESTED({"a": missing, "b": [missing, 1]})',
      '[{"name":"b[0]","val":null},{"name":"b[1]","val":1}]',
    ],
  ]);
});

test('a comparison of objects is NULL if a member with NULL decides it, as for elements of arrays', () => {
  assertResults([
    ['{"a": NULL} < {"a": 1}', 'null'],
    ['{"a": NULL, "b": 1} < {"a": 1, "b": 0}', 'null'],
    ['[1, {"a": NULL}] > [1, {"a": 2}]', 'null'],
    ['{"a": 1, "b": NULL} < {"a": 2, "b": 1}', 'true'],
    ['{"a": NULL} < {"a": 1, "b": 1}', 'true'],
    ['{"a": 1, "b": 9} < {"a": 1, "c": 2}', 'true'],
  ]);
});

test('STR_TO_MILLIS reads a fraction of a second that the format lacks', () => {
  assertResults([
    ['STR_TO_MILLIS("2018-04-30T10:11:12.123456Z", "1111-11-11T00:00:00Z")', '1525083072123'],
    ['STR_TO_MILLIS("2018-04-30 10:11:12.5", "1111-11-11 00:00:00")', '1525083072500'],
    ['STR_TO_MILLIS("2018-04-30T10:11:12.5+02:00", "2006-01-02T15:04:05Z07:00")', '1525075872500'],
    ['STR_TO_MILLIS("2018-04-30T10:11:12Z", "1111-11-11T00:00:00Z")', '1525083072000'],
    ['STR_TO_MILLIS("2018-04-30T10:11:12.Z", "1111-11-11T00:00:00Z")', 'null'],
  ]);
});

test('a percent sign at the end of a format stands for itself', () => {
  assertResults([['DATE_FORMAT_STR("2018-04-30", "%Y%")', '"2018%"']]);
});

test('ARRAY_REPLACE replaces as many items as its last argument says, and all if that is no positive integer', () => {
  assertResults([
    ['ARRAY_REPLACE([1, 1, 1], 1, 2, 2)', '[2,2,1]'],
    ...['-1', '0', '1.5', 'NULL', 'MISSING', '9223372036854775807'].map(
      (count) => [`ARRAY_REPLACE([1, 1, 1], 1, 2, ${count})`, '[2,2,2]'] as const,
    ),
    ['ARRAY_REPLACE([1, 3], 1, NULL)', '[null,3]'],
    ['ARRAY_REPLACE([NULL], NULL, 1)', 'null'],
  ]);
});

test('MISSING options of TOKENS give MISSING', () => {
  assertResults([['[TOKENS("a", MISSING) IS MISSING, TOKENS("a")]', '[true,["a"]]']]);
});

test('every form of LIKE refuses an escape of more than one character', () => {
  for (const form of ['"a" LIKE "a" ESCAPE "xx"', '`like`("a", "a", "xx")', 'LIKE_PREFIX("a", "xx")'])
    assert.throws(
      () => compile(parseExpression(form))([], context),
      /ESCAPE must be a single character/,
      form,
    );
});

test('OBJECT_FILTER leaves out NULL, but not inside a member that it keeps as a whole', () => {
  assertResults([
    [
      'OBJECT_FILTER({"a": 1, "b": null, "c": [null], "d": [null, 2]}, {"composites": false})',
      '{"a":1,"d":[2]}',
    ],
    ['OBJECT_FILTER({"a": 1, "b": null, "c": [null]}, {"composites": true})', '{"a":1,"b":null,"c":[null]}'],
    ['OBJECT_FILTER([null], {"composites": false})', 'null'],
  ]);
});

test('the anchor of MASK counts characters, also those outside the basic plane', () => {
  assertResults([
    ['MASK("😀😀ab12", {"mask": "##", "anchor": "[0-9]"})', '"😀😀ab##"'],
    ['MASK("ab12", {"mask": "##", "anchor": "[0-9]"})', '"ab##"'],
    ['MASK("😀😀", {"mask": "##", "anchor": 3})', '"😀😀"'],
  ]);
});
