import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { outOfRange } from '../../../test/support/sql-errors.ts';
import { sizeOf } from '../run/size.ts';
import { collate } from './collation.ts';
import { equal } from './comparison.ts';
import { identityOf } from './identity.ts';
import { resolveDeep } from './json-parse.ts';
import { jsonText } from './json-text.ts';
import { countSteps, renewSteps, stepsMax } from './step-limit.ts';
import { newObject, RawJson, type Value } from './value.ts';

afterEach(renewSteps);

/** The steps that are left to a test. All steps of a statement take seconds. */
const stepsHere = stepsMax / 10;
/** One value in an array many times, as ARRAY_REPEAT makes it. Two such arrays have four times as many elements as there are steps. */
const repeated = (value: Value, times = Math.sqrt(4 * stepsHere)): Value => Array<Value>(times).fill(value);
const nested = (): Value => repeated(repeated(1));
const members = (): Value => repeated(Object.assign(newObject(), { a: repeated(1), b: 1 }));

const uses: Readonly<Record<string, (value: Value) => unknown>> = {
  'its text': jsonText,
  'the text that identifies it': identityOf,
  'its size': sizeOf,
  'its parsed form': resolveDeep,
  'its order': (value) => collate(value, Array.isArray((value as Value[])[0]) ? nested() : members()),
  'its equality with another value': (value) => equal(value, [...(value as Value[])]),
};

for (const [what, compute] of Object.entries(uses))
  test(`${what} is not computed for a value of more elements than the steps that are left`, () => {
    for (const value of [nested(), members()]) {
      renewSteps();
      countSteps(stepsMax - stepsHere);
      assert.throws(() => compute(value), outOfRange);
      compute([1, [2]]);
    }
  });

test('a text of more characters than a string can have is refused', () => {
  const text = `"${'x'.repeat(30_000)}"`;
  for (const value of ['x'.repeat(30_000), new RawJson(Buffer.from(text), 0, text.length)]) {
    renewSteps();
    assert.throws(() => jsonText(repeated(value, 32_000)), outOfRange);
  }
});

test('the limit counts only the steps since the statement last continued', () => {
  renewSteps();
  for (let round = 0; round < 3; round++) {
    countSteps(200_000_000);
    renewSteps();
  }
  countSteps(200_000_000);
  assert.throws(() => countSteps(200_000_000), outOfRange);
});
