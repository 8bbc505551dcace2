import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleNumber } from './observe-verbs.ts';

test('infinite samples and those that are no number keep their text, also as JSON', () => {
  const read = ['+Inf', '-Inf', 'NaN', '1e+21', '0.5'].map(sampleNumber);
  assert.equal(JSON.stringify(read), '["+Inf","-Inf","NaN",1e+21,0.5]');
});
