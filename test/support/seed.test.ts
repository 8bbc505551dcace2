import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printedSeed, seedOf } from './seed.ts';

test('printedSeed reads the seed from DIVAN_SEED, prints it, and refuses an invalid one', () => {
  assert.equal(seedOf('17', 5), 17);
  assert.equal(seedOf(undefined, 5), 5);
  for (const wrong of ['x', '-1', '1.5', '2147483648']) assert.throws(() => seedOf(wrong, 5), /DIVAN_SEED/);
  const lines: string[] = [];
  const seed = printedSeed((line) => lines.push(line));
  assert.deepEqual(lines, [`DIVAN_SEED=${seed}`]);
});
