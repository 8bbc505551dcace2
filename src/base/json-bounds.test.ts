import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonBoundsProblem, jsonLevels, jsonValues } from './json-bounds.ts';

const problem = (text: string) => jsonBoundsProblem(Buffer.from(text));
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

test('JSON is accepted up to the bounds of levels and values, and refused beyond them', () => {
  assert.equal(problem(nested(jsonLevels)), null);
  assert.match(problem(nested(jsonLevels + 1)) ?? '', /at most 64 levels/);
  assert.equal(problem(`[${nested(jsonLevels - 1)},${nested(jsonLevels - 1)}]`), null);
  assert.equal(problem(`[${'1,'.repeat(jsonValues - 1)}1]`), null);
  assert.match(problem(`[${'1,'.repeat(jsonValues)}1]`) ?? '', /at most 100000 values/);
  assert.match(problem('{"a":'.repeat(jsonLevels + 1)) ?? '', /levels/);
});

test('brackets and commas inside strings do not count', () => {
  assert.equal(problem(JSON.stringify({ a: '['.repeat(1_000), b: '\\"[{,:'.repeat(200_000) })), null);
  assert.equal(problem(`"${'['.repeat(1_000)}`), null);
  assert.match(problem(`["\\\\",${'['.repeat(jsonLevels)}`) ?? '', /levels/);
});
