import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nodeIdIn, nodeServerName, nodeUri } from './node-uri.ts';

it('finds the one node id in the names of a certificate', () => {
  const own = `URI:${nodeUri('ab12')}`;
  assert.equal(nodeIdIn(`DNS:${nodeServerName}, ${own}`), 'ab12');
  for (const names of [
    undefined,
    '',
    'DNS:urn:divan:node:ab12',
    `${own}, URI:${nodeUri('cd34')}`,
    'URI:urn:other:ab12',
  ])
    assert.equal(nodeIdIn(names), null, names);
});
