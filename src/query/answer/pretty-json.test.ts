import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PrettyJson } from './pretty-json.ts';

const values = [
  {},
  [],
  [[], {}],
  'a',
  12.5,
  null,
  { a: [1, { b: 'x, y: [z] {"q"} \\ é😀' }, []], 'c"d\\': true, e: {} },
];

const indented = (value: unknown): string => JSON.stringify(value, null, 4).replaceAll('\n', '\n  ');

test('JSON text is indented by four spaces per level, in however many parts it comes', () => {
  for (const value of values) {
    const text = JSON.stringify(value);
    assert.equal(new PrettyJson('  ').format(text), indented(value));
    for (let at = 0; at <= text.length; at++) {
      const pretty = new PrettyJson('  ');
      assert.equal(pretty.format(text.slice(0, at)) + pretty.format(text.slice(at)), indented(value), text);
    }
    const pretty = new PrettyJson('  ');
    assert.equal([...text].map((part) => pretty.format(part)).join(''), indented(value));
  }
});

test('space of the text is replaced, and numbers keep their notation', () => {
  const text = '{ "a" :\n[1.50,  2E+3 ],"b":\t-0 }';
  assert.equal(
    new PrettyJson('').format(text),
    '{\n    "a": [\n        1.50,\n        2E+3\n    ],\n    "b": -0\n}',
  );
});
