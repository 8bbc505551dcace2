// Text and values of large documents in steps are those that one call makes.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { outOfRange } from '../../../test/support/sql-errors.ts';
import { JsonError, parseJson } from './json-parse.ts';
import { parseInSteps } from './json-steps.ts';
import { jsonText } from './json-text.ts';
import { countSteps, renewSteps, stepsMax } from './step-limit.ts';
import { isLargeValue, textParts } from './text-steps.ts';
import { AnswerPieces, AnswerText, newObject, RawJson, type Value } from './value.ts';

afterEach(renewSteps);

const rawOf = (text: string): RawJson => {
  const bytes = Buffer.from(text);
  return new RawJson(bytes, 0, bytes.length);
};
const items = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `n${id} é😀`, tags: [1, [], {}] }));
const document = JSON.stringify({ b: items, a: 1, c: { deep: { items }, s: 'x'.repeat(200_000) }, d: [] });

function runSteps(raw: RawJson): { value: Value; count: number } {
  const steps = parseInSteps(raw);
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done) return { value: step.value, count };
  }
}

test('a large document is parsed in steps to the same value', () => {
  for (const text of [
    document,
    JSON.stringify(JSON.parse(document), null, 2),
    `[${' '.repeat(100_000)}]`,
    '12',
  ]) {
    const raw = rawOf(text);
    const { value, count } = runSteps(raw);
    assert.deepEqual(value, parseJson(raw.bytes));
    assert.ok(count >= Math.floor(text.length / 300_000), `${count} steps`);
  }
});

test('deeply nested text is parsed in steps to the same value, and is not searched again for each level', () => {
  const nested = (inner: string): string => `${'['.repeat(1_500)}${inner}${']'.repeat(1_500)}`;
  const text = nested(document);
  const { value, count } = runSteps(rawOf(text));
  assert.deepEqual(value, parseJson(Buffer.from(text)));
  assert.ok(count > 10 && count < 100, `${count} steps`);
  const numbers = Buffer.from(nested(`[${'1,'.repeat(50_000)}1]`));
  let reads = 0;
  const bytes = new Proxy(numbers, {
    get(target, name) {
      reads++;
      return target[name as unknown as number];
    },
  });
  runSteps({ bytes, start: 0, end: numbers.length } as RawJson);
  assert.ok(reads < 10 * numbers.length, `${reads} reads of ${numbers.length} bytes`);
});

test('text that is no JSON is refused in steps, too', () => {
  for (const text of [
    document.slice(0, -1),
    `${document},`,
    document.replace('"name":"n19999', '"name" "n19999'),
    '',
  ])
    assert.throws(() => runSteps(rawOf(text)), JsonError);
  assert.throws(() => runSteps(rawOf('['.repeat(100_000))), /at most 2000 levels/);
});

test('the parts of a large value are its text, and none is long', () => {
  const parsed = parseJson(Buffer.from(document));
  const row = new AnswerPieces([new AnswerText('{"x":'), parsed, new AnswerText('}')] as unknown as Value[]);
  for (const value of [
    parsed,
    rawOf(document),
    'é😀"\\'.repeat(100_000),
    row as unknown as Value,
    [parsed, parsed],
  ]) {
    assert.ok(isLargeValue(value));
    const parts = [...textParts(value)];
    assert.equal(parts.join(''), jsonText(value));
    assert.ok(Math.max(...parts.map(({ length }) => length)) <= 300_000);
  }
  const text = 'y'.repeat(300_000);
  const written = new AnswerText(text) as unknown as Value;
  assert.equal([...textParts(written)].join(''), text);
});

test('small values are not large', () => {
  for (const value of [
    undefined,
    null,
    1,
    'x'.repeat(1_000),
    [1, { a: 2 }],
    rawOf('{"a":1}'),
    items.slice(0, 100),
  ])
    assert.equal(isLargeValue(value as Value), false);
});

test('the text of a value of more elements than the steps that are left is refused before its first part', () => {
  const stepsHere = stepsMax / 10; // all steps take seconds
  const repeated = (value: Value): Value => Array<Value>(Math.sqrt(4 * stepsHere)).fill(value);
  for (const value of [repeated(repeated(1)), repeated(Object.assign(newObject(), { a: repeated(1) }))]) {
    renewSteps();
    countSteps(stepsMax - stepsHere);
    assert.throws(() => {
      for (const part of textParts(value)) assert.equal(part, '');
    }, outOfRange);
  }
});
