import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patternProblem, testOf } from './match.ts';

const longest = 251;

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

test('the worst accepted patterns are matched in bounded time', () => {
  const before = process.cpuUsage();
  for (const pattern of ['.*.*~', '(?:.*|.)~', '(?:.|.).*~', '.{0,251}.{0,251}~']) {
    assert.equal(patternProblem(pattern), null, pattern);
    const matches = testOf([{ label: 'scope', operator: '=~', value: pattern }]);
    for (let series = 0; series < 20; series++) assert.equal(matches({ scope: 'a'.repeat(longest) }), false);
  }
  const { user } = process.cpuUsage(before);
  assert.ok(user / 1_000 < 1_000, `${user / 1_000} ms`);
});
