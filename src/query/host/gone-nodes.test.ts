import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayHaveGoneNodes } from './gone-nodes.ts';

const stateOf = (...names: readonly string[]) => ({
  node: { nodes: names.map((name) => ({ name, services: [], ports: {}, isThis: name === 'this' })) },
});

test('another node has gone once the list lacks it; before the first state any may have', () => {
  assert.equal(mayHaveGoneNodes(stateOf('this', 'a', 'b'), stateOf('this', 'a')), true);
  assert.equal(mayHaveGoneNodes(stateOf('this', 'a'), stateOf('this', 'a', 'b')), false);
  assert.equal(mayHaveGoneNodes(stateOf('this', 'a'), stateOf('a')), false);
  assert.equal(mayHaveGoneNodes(null, stateOf('this', 'a')), true);
  assert.equal(mayHaveGoneNodes(null, stateOf('this')), false);
  assert.equal(mayHaveGoneNodes(null, stateOf()), false);
});
