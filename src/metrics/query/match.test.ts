import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertGrowth } from '../../../test/support/growth.ts';
import { patternProblem, testOf } from './match.ts';

test('patterns that select names are accepted', () => {
  const valid = [
    'kv_ops',
    'kv_.*',
    '.*_(total|bytes)',
    'a|b|c|d|e',
    '.+?_rate.*',
    '[a-z]+',
    'kv_(?:ops|gets)',
    'a?',
  ];
  for (const pattern of valid) assert.equal(patternProblem(pattern), null, pattern);
});

test('a label that series do not have is empty, also one with the name of a member that all objects have', () => {
  for (const label of ['color', 'constructor', '__proto__']) {
    assert.equal(testOf([{ label, operator: '=', value: '' }])({ bucket: 'b' }), true, label);
    assert.equal(testOf([{ label, operator: '=~', value: '.+' }])({ bucket: 'b' }), false, label);
  }
});

test('patterns with which one query could block the node are refused', () => {
  const tooMany = [
    '.?'.repeat(40),
    '(?:.|.)'.repeat(30),
    '(.|.)(.|.).*',
    '.*.*.*x',
    'a{0,9}b{0,9}c{0,9}',
    '.*?.*?.*?x',
  ];
  for (const pattern of tooMany)
    assert.match(patternProblem(pattern) ?? '', /^patterns have at most 2 /, pattern);
});

test('the time of the worst accepted patterns grows at most with the square of the length of a value', async () => {
  for (const pattern of ['.*.*~', '(?:.*|.)~', '(?:.|.).*~', '.{0,251}.{0,251}~']) {
    assert.equal(patternProblem(pattern), null, pattern);
    const matches = testOf([{ label: 'scope', operator: '=~', value: pattern }]);
    await assertGrowth(2, 100, (length) => {
      for (let series = 0; series < 5; series++) assert.equal(matches({ scope: 'a'.repeat(length) }), false);
    });
  }
});
