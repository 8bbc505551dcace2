import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { problemsOf } from './problems.ts';

const schema = z.strictObject({ list: z.array(z.strictObject({ a: z.string() })) });

function problemsIn(value: unknown): string {
  const parsed = schema.safeParse(value);
  assert.ok(parsed.error);
  return problemsOf(parsed.error.issues, value, 'field');
}

test('an answer lists at most fifty problems, and says how many more there are', () => {
  const few = problemsIn({ list: [{}, { a: 1, b: 2, c: 3 }] });
  assert.equal(
    few,
    'list.0.a: is missing: it must be a string; list.1.a: must be a string; list.1.b: unknown field; list.1.c: unknown field',
  );
  const many = problemsIn({ list: Array(20_000).fill({}) });
  assert.equal(many.split('; ').length, 51);
  assert.match(many, /; and 19950 more problems$/);
  const names = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, 1]));
  assert.match(problemsIn({ list: [], ...names }), /^k0: unknown field; .*; and 59950 more problems$/);
});
