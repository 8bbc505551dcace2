import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Value } from '#sqlpp/values/value.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { KeyWriter } from '../keys/key-writer.ts';
import { RowDecoder } from './row-decoder.ts';

const component = fc.oneof(
  fc.constantFrom<Value>(undefined, null, true, 0, 1, 'a', 'ab', 'a\0', 'é', '\ud800', ['a'], ['a', 1]),
  fc.string({ maxLength: 3 }),
) as fc.Arbitrary<Value>;

test('a row is decoded to the values of its key, independent of the rows decoded before', () => {
  const rows = fc.array(fc.tuple(component, component), { maxLength: 20 });
  const directions = fc.tuple(fc.boolean(), fc.boolean());
  const positions = fc.constantFrom([0], [1], [0, 1], [1, 0]);
  fc.assert(
    fc.property(rows, directions, positions, (some, descending, decodedPositions) => {
      const decoder = new RowDecoder(
        decodedPositions,
        descending.map((isDescending) => ({ isDescending })),
      );
      for (const row of some) {
        const writer = new KeyWriter(1_000);
        for (const [at, value] of row.entries()) writer.write(value, descending[at]);
        assert.deepEqual(
          decoder.decode(writer.copy()),
          decodedPositions.map((at) => row[at]),
        );
      }
    }),
    { numRuns: 2_000, seed: printedSeed(console.log) },
  );
});
