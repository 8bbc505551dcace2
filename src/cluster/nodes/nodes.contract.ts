// Routes that describe single nodes.
import { type Access, defineRoute } from '#contract/route.ts';

const readNodes: Access = { kind: 'permission', permission: 'cluster.nodes!read' };

export const GetNodeStatuses = defineRoute({
  id: 'nodes.statuses',
  method: 'GET',
  path: '/nodeStatuses',
  access: readNodes,
  doc: 'Health of each node by address.',
});

export const GetOwnNode = defineRoute({
  id: 'nodes.self',
  method: 'GET',
  path: '/nodes/self',
  access: readNodes,
  openBeforeProvisioning: true,
  doc: 'This node with its storage.',
});

export const GetNode = defineRoute({
  id: 'nodes.get',
  method: 'GET',
  path: '/nodes/:node',
  access: readNodes,
  doc: 'One node with its storage, by its node name.',
});
