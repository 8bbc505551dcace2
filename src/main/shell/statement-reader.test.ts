import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prng } from '#base/prng.ts';
import { scan } from '#sqlpp/text/scanner.ts';
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

test('the reader ends statements where the tokens of the whole text have a semicolon, however the text arrives', () => {
  const random = prng(41);
  const characters = [...';\'"`\\-/*+\n\r a1[]{},('];
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from({ length: 1 + random.below(14) }, () => random.pick(characters)).join('');
    const cut = random.below(text.length + 1);
    const reader = new StatementReader();
    const found = [...reader.add(text.slice(0, cut)), ...reader.add(text.slice(cut)), ...reader.end()];
    assert.deepEqual(found, statementsIn(text), JSON.stringify([text, cut]));
  }
});

function statementsIn(text: string): string[] {
  const { kinds, starts, ends } = scan(text);
  const ofSemicolons = kinds.flatMap((kind, index) => (kind === ';' ? [index] : []));
  const begins = [0, ...ofSemicolons.map((index) => ends[index] as number)];
  return begins
    .map((begin, n) => text.slice(begin, starts[ofSemicolons[n] ?? kinds.length - 1]).trim())
    .filter((statement) => scan(statement).kinds.length > 1);
}

test('the reader reads a statement of a megabyte with many lines', () => {
  // About 40 ms; in quadratic time some minutes.
  const reader = new StatementReader();
  for (let n = 0; n < 10_000; n++) {
    assert.deepEqual(reader.add(`("key${n}", {"text": "one; two", "more": "${'x'.repeat(60)}"}),\n`), []);
    assert.ok(reader.isPending);
  }
  assert.equal(reader.add(';').length, 1);
});
