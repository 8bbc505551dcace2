import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nodeIdIn, nodeServerName, nodeUri } from './node-uri.ts';

it('finds the one node id in the names of a certificate', () => {
  const uri = `URI:${nodeUri('ab12')}`;
  assert.equal(nodeIdIn(`DNS:${nodeServerName}, ${uri}`), 'ab12');
  for (const names of [
    undefined,
    '',
    'DNS:urn:divan:node:ab12',
    `${uri}, URI:${nodeUri('cd34')}`,
    'URI:urn:other:ab12',
  ])
    assert.equal(nodeIdIn(names), null, names);
});
