import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { outOfRange } from '../../../test/support/sql-errors.ts';
import { sizeOf } from '../run/size.ts';
import { collate } from './collation.ts';
import { equal } from './comparison.ts';
import { identityOf } from './identity.ts';
import { resolveDeep } from './json-parse.ts';
import { jsonText } from './json-text.ts';
import { countSteps, renewSteps } from './step-limit.ts';
import { newObject, RawJson, type Value } from './value.ts';

afterEach(renewSteps);

/** One value in an array many times, as ARRAY_REPEAT makes it: a billion elements. */
const repeated = (value: Value): Value => Array<Value>(32_000).fill(value);
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
  test(`${what} is not computed for a value of a billion elements`, () => {
    for (const value of [nested(), members()]) {
      renewSteps();
      assert.throws(() => compute(value), outOfRange);
      compute([1, [2]]);
    }
  });

test('a text of more characters than a string can have is refused', () => {
  const text = `"${'x'.repeat(30_000)}"`;
  for (const value of ['x'.repeat(30_000), new RawJson(Buffer.from(text), 0, text.length)]) {
    renewSteps();
    assert.throws(() => jsonText(repeated(value)), outOfRange);
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
