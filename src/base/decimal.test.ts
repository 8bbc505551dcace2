import assert from 'node:assert/strict';
import { test } from 'node:test';
import { integerOf, numberOf } from './decimal.ts';

const long = '9'.repeat(1 << 20);

test('integers of any length are parsed, with an optional sign and surrounding blanks', () => {
  for (const [text, value] of [
    ['0', 0],
    [' +7\t', 7],
    ['-12', -12],
    ['007', 7],
    ['1000000000000000000000', 1e21],
    [long, Number.POSITIVE_INFINITY],
    [`-${long}`, Number.NEGATIVE_INFINITY],
    ...['', ' ', '+', '1.0', '1e3', '0x1', '1 2', 'Infinity', '１'].map((wrong) => [wrong, null] as const),
  ] as const)
    assert.equal(integerOf(text), value, text.slice(0, 40));
});

test('numbers with digits after a decimal point are parsed', () => {
  for (const [text, value] of [
    ['0.04', 0.04],
    [' -1.5 ', -1.5],
    ['60', 60],
    [`0.${'1'.repeat(100)}`, 1 / 9],
    [`${long}.5`, Number.POSITIVE_INFINITY],
    ...['', '.5', '5.', '1e3', '1,5'].map((wrong) => [wrong, null] as const),
  ] as const)
    assert.equal(numberOf(text), value, text.slice(0, 40));
});
