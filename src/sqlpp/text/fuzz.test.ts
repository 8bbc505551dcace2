// Random texts for scanner and parser: each is parsed or refused with an error of the language, and the canonical text of an
// expression is parsed and formatted to itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Random, randomFrom } from '../../../test/support/random.ts';
import { statement } from '../../../test/support/random-statements.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { SqlError } from '../errors/sql-error.ts';
import { formatExpression } from './format.ts';
import { parseExpression, parseStatement } from './parser.ts';

const texts = 20_000;
/** Syntax errors, and errors that the parser finds in a valid form, such as a wrong use of a function. */
const isRefusal = (error: unknown): boolean =>
  error instanceof SqlError && error.code >= 3000 && error.code < 5000;

const pieces = [
  'SELECT',
  'FROM',
  'WHERE',
  'b',
  '`b`',
  'GROUP BY',
  'ORDER BY',
  'LIMIT',
  'UNNEST',
  'JOIN',
  'ON',
  'KEYS',
  'USE',
  'ANY',
  'EVERY',
  'IN',
  'WITHIN',
  'SATISFIES',
  'END',
  'CASE',
  'WHEN',
  'THEN',
  'ELSE',
  'ARRAY',
  'FOR',
  'OBJECT',
  'UPDATE',
  'SET',
  'INSERT INTO',
  'VALUES',
  'MERGE',
  'CREATE INDEX',
  'WITH',
  'OVER',
  'PARTITION BY',
  'ROWS',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  '.',
  ':',
  ';',
  '*',
  '||',
  '=',
  '<',
  '<=',
  '-',
  '+',
  '/',
  '%',
  '?',
  '$1',
  '$a',
  '@',
  '"',
  "'",
  '`',
  '\\',
  '--',
  '/*',
  '*/',
  '/*+',
  '\n',
  '\0',
  '\ud800',
  '😀',
  '0',
  '1e',
  '1e999',
  '.5',
  '0x1',
  'NULL',
  'MISSING',
  'TRUE',
  'a.b.c',
  '[*]',
  '[1:2]',
  '"\\u12"',
  'META().id',
  'COUNT(*)',
  'DISTINCT',
  'NOT',
  'AND',
  'OR',
  'IS',
];

function randomText(random: Random): string {
  const pick = (): string => pieces[random(pieces.length)] as string;
  return Array.from({ length: 1 + random(20) }, pick).join(random(4) === 0 ? '' : ' ');
}

/** A valid statement with some characters removed, repeated or replaced. */
function damagedStatement(random: Random): string {
  let text = statement(() => random(1 << 30) / (1 << 30));
  for (let left = random(4); left > 0; left--) {
    const at = random(text.length + 1);
    const length = random(6);
    const instead =
      random(2) === 0 ? (pieces[random(pieces.length)] as string) : text.slice(at, at + length).repeat(2);
    text = text.slice(0, at) + instead + text.slice(at + length);
  }
  return text;
}

test('every text is parsed, or refused with an error that clients know', () => {
  const random = randomFrom(printedSeed(console.log));
  const counts = { parsed: 0, refused: 0 };
  for (let left = texts; left > 0; left--) {
    const text = random(2) === 0 ? randomText(random) : damagedStatement(random);
    try {
      parseStatement(text);
      counts.parsed++;
    } catch (error) {
      assert.ok(isRefusal(error), `${JSON.stringify(text)}: ${(error as Error).stack}`);
      counts.refused++;
    }
  }
  // Both outcomes occur often.
  assert.ok(counts.parsed > texts / 20 && counts.refused > texts / 20, JSON.stringify(counts));
});

test('the canonical text of an expression is parsed and formatted to itself', () => {
  const random = randomFrom(printedSeed(console.log));
  let compared = 0;
  for (let left = texts; left > 0; left--) {
    let formatted: string;
    try {
      formatted = formatExpression(parseExpression(randomText(random)));
    } catch (error) {
      assert.ok(isRefusal(error), String(error));
      continue;
    }
    assert.equal(formatExpression(parseExpression(formatted)), formatted);
    compared++;
  }
  assert.ok(compared > 100, `only ${compared} of the texts are expressions`);
});
