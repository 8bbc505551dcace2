import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { dataNodes } from './members.ts';

test('data nodes without a server group, or in one that was deleted, are in the first group', () => {
  const nodes = [
    nodeNamed('a', { group: 'first' }),
    nodeNamed('b'),
    nodeNamed('c', { group: 'deleted' }),
    nodeNamed('d', { group: 'second' }),
    nodeNamed('e', { services: ['n1ql'] }),
  ];
  const groups = ['first', 'second'].map((uuid) => ({ uuid, name: uuid }));
  assert.deepEqual(
    dataNodes(aCluster({ nodes, groups })).map(({ group }) => group),
    ['first', 'first', 'first', 'second'],
  );
});
