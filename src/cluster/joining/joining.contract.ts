// Routes that add nodes to a cluster, and remove those without documents: added and not yet rebalanced in, or failed over.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';

const writePools: Access = { kind: 'permission', permission: 'cluster.pools!write' };
const writeSetUp: Access = { kind: 'permission', permission: 'cluster.admin.setup!write' };
const addedNode = { json: shape.object({ otpNode: shape.string }) };

export const AddNode = defineRoute({
  id: 'joining.add',
  method: 'POST',
  path: '/controller/addNode',
  access: writePools,
  openBeforeProvisioning: true,
  bodyKind: 'form',
  answer: addedNode,
  doc: 'Adds another node to this cluster. The added node loses its own provisioning and data, and holds documents after the next rebalance.',
});

export const AddNodeV2 = defineRoute({
  id: 'joining.add_v2',
  method: 'POST',
  path: '/controller/addNodeV2',
  access: writePools,
  openBeforeProvisioning: true,
  bodyKind: 'form',
  answer: addedNode,
  doc: 'The same as `/controller/addNode`.',
});

export const AddNodeToGroup = defineRoute({
  id: 'joining.add_to_group',
  method: 'POST',
  path: '/pools/default/serverGroups/:uuid/addNode',
  access: writePools,
  bodyKind: 'form',
  answer: addedNode,
  doc: 'Adds another node to this cluster as `/controller/addNode` does, into a server group.',
});

export const Eject = defineRoute({
  id: 'joining.eject',
  method: 'POST',
  path: '/controller/ejectNode',
  access: writePools,
  bodyKind: 'form',
  doc: 'Removes a node that holds no documents: one that was added and not rebalanced in, or was failed over.',
});

export const Join = defineRoute({
  id: 'joining.join',
  method: 'POST',
  path: '/node/controller/doJoinCluster',
  access: writeSetUp,
  openBeforeProvisioning: true,
  bodyKind: 'form',
  doc: 'Makes this node, which is not provisioned, join the cluster of another node.',
});

export const Engage = defineRoute({
  id: 'joining.engage',
  method: 'POST',
  path: '/engageCluster2',
  access: writeSetUp,
  openBeforeProvisioning: true,
  bodyKind: 'json',
  changesNothing: true,
  answer: { json: shape.any },
  doc: 'Between nodes: whether and how this node can join a cluster.',
});

export const Complete = defineRoute({
  id: 'joining.complete',
  method: 'POST',
  path: '/completeJoin',
  access: writeSetUp,
  openBeforeProvisioning: true,
  bodyKind: 'json',
  doc: 'Between nodes: this node joins the cluster, with the sealed secrets of the call.',
});
