import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durabilityOf, letterOf, msOfCas } from './attempt-json.ts';

test('times and durability levels of client libraries are parsed', () => {
  assert.equal(msOfCas('0x000058a71dd25c15'), 1_539_336_197_457);
  assert.equal(msOfCas('soon'), 0);
  for (const level of ['none', 'majority', 'majorityAndPersistActive', 'persistToMajority'] as const)
    assert.equal(durabilityOf(letterOf(level)), level);
});
