// Statements with many operands, each of which takes long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outOfRange } from '../../../test/support/sql-errors.ts';
import { parseExpression } from '../text/parser.ts';
import { countSteps, renewSteps, stepsMax } from '../values/step-limit.ts';
import { RawJson, type Value } from '../values/value.ts';
import { compile } from './compile.ts';
import { evaluationContext } from './evaluation-context.fixture.ts';

/** Each takes a millisecond or more for an evaluation of one of the operands. */
const longOperands: Readonly<Record<string, readonly [operand: string, ...values: Value[]]>> = {
  'comparisons of long texts': ['$1 < $2', 'a'.repeat(4_000_000), `${'a'.repeat(4_000_000)}b`],
  'comparisons of equal long texts': ['$1 = $2', 'a'.repeat(4_000_000), `${'a'.repeat(3_999_999)}a`],
  'LIKE with long patterns': ['$1 LIKE $2', 'a'.repeat(4_000_000), `${'a'.repeat(4_000_000)}%`],
  'look-ups of a long text': ['$1 NOT IN $2', 'a'.repeat(4_000_000), [1, 2, 3, 4, 5, 6, 7, 8]],
  'slices of unparsed arrays': ['$1[0:1]', rawJson(`[${'1,'.repeat(500_000)}1]`)],
  'members of unparsed objects': [
    '$1.`x`i',
    rawJson(`{${Array.from({ length: 200_000 }, (_, at) => `"X${at}":1`).join()},"X":1}`),
  ],
};

function rawJson(text: string): RawJson {
  const bytes = Buffer.from(text);
  return new RawJson(bytes, 0, bytes.length);
}

for (const [title, [operand, ...positional]] of Object.entries(longOperands))
  test(`${title} count as steps, of which there is a limit without a pause`, () => {
    const evaluate = compile(parseExpression(Array<string>(100).fill(operand).join(' AND ')));
    renewSteps();
    countSteps(stepsMax - 5_000_000);
    assert.throws(() => evaluate([], evaluationContext({ positional })), outOfRange);
    renewSteps();
    assert.ok(compile(parseExpression(operand))([], evaluationContext({ positional })));
  });
