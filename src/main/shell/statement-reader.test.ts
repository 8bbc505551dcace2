import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatementReader } from './statement-reader.ts';

test('a comment after a statement begins no statement, but an open comment or text is pending', () => {
  for (const [text, isPending] of [
    ['SELECT 1; -- done\n', false],
    ['SELECT 1; /* done */ \n', false],
    ['SELECT 1; /* goes on\n', true],
    ['SELECT 1; SELECT\n', true],
    ["SELECT 1; '\n", true],
  ] as const) {
    const reader = new StatementReader();
    assert.deepEqual(reader.add(text), ['SELECT 1']);
    assert.equal(reader.isPending, isPending, text);
  }
});
