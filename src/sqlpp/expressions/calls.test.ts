// Calls whose arguments are not parsed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Expression } from '../tree/expression.ts';
import { RawJson, type Value } from '../values/value.ts';
import { compile } from './compile.ts';
import { evaluationContext } from './evaluation-context.fixture.ts';

/** Calls a function of one argument with JSON text. */
function call(name: string, text: string): Value {
  const bytes = Buffer.from(text);
  const argument: Expression = { kind: 'slot', slot: 0, original: { kind: 'self', at: 0 }, at: 0 };
  const node: Expression = { kind: 'call', name, arguments: [argument], at: 0 };
  return compile(node)([new RawJson(bytes, 0, bytes.length)], evaluationContext());
}

test('types and lengths of arrays are found in their text', () => {
  for (const [name, text, expected] of [
    ['array_length', ' [1, {"b": [2, 3]}, "x,]y", [], null]', 5],
    ['array_length', '[[1,2]]', 1],
    ['array_length', '[ ]', 0],
    ['array_length', '{"a": 1}', null],
    ['array_length', '"["', null],
    // A parser would refuse this text.
    ['array_length', '[1, unknown]', 2],
    ['type', '[unknown]', 'array'],
    ['type', '{unknown}', 'object'],
    ['type', ' "text"', 'string'],
    ['type', '1.5', 'number'],
    ['type', 'null', 'null'],
    ['isarray', '[unknown]', true],
    ['isobject', '[unknown]', false],
    ['isobject', '{unknown}', true],
    ['isatom', '{unknown}', false],
    ['isatom', 'true', true],
  ] as const)
    assert.equal(call(name, text), expected, `${name} of ${text}`);
});
