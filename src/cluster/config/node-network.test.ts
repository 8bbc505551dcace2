import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeNamed } from '../../../test/support/cluster.ts';
import { groupsAnswer } from '../server-groups/server-groups.contract.ts';
import type { NodeNetwork } from './cluster-state.ts';
import { restAddressOf } from './node-network.ts';

test('a node without a name is shown at the loopback address of its family', () => {
  const network: NodeNetwork = { afamily: 'inet6', nodeEncryption: false, afamilyOnly: false, listeners: [] };
  const sixth = nodeNamed('a', { hostname: null, network });
  assert.equal(restAddressOf(sixth), '[::1]:8091');
  assert.equal(restAddressOf(nodeNamed('a', { hostname: null })), '127.0.0.1:8091');
  assert.equal(restAddressOf(nodeNamed('a.example', { network })), 'a.example:8091');
  const { groups } = groupsAnswer([{ group: { uuid: '0', name: 'Group 1' }, nodes: [sixth] }], 1);
  assert.equal(groups[0]?.nodes[0]?.hostname, '[::1]:8091');
});
