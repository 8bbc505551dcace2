import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import { ownVbuckets, sendingNodes } from './source-share.ts';

const layout = (actives: ClusterLayout['actives']): ClusterLayout => ({
  self: 'a',
  tls: { certificate: '', key: '', authority: '' },
  nodes: [],
  actives,
});

test('a node replicates the vbuckets that are active on it, and shares the network limit with the other source nodes', () => {
  assert.equal(ownVbuckets(null, 'b').length, 1024);
  assert.equal(sendingNodes(null, 'b'), 1);
  const three = layout({ b: ['a', 'c', null, 'a'], other: ['c'] });
  const own = ownVbuckets(three, 'b');
  assert.deepEqual([own.length, own.slice(0, 4)], [512, [0, 3, 4, 7]]);
  assert.equal(sendingNodes(three, 'b'), 2);
  assert.deepEqual([ownVbuckets(three, 'other').length, sendingNodes(three, 'other')], [0, 1]);
  // The bucket is newer than the layout.
  assert.deepEqual([ownVbuckets(three, 'new').length, sendingNodes(three, 'new')], [1024, 1]);
});
