// Routes that describe single nodes.

import { type Access, defineRoute } from '#contract/route.ts';
import { detailedNodeShape, nodeStatusesShape } from './nodes.shapes.ts';

const readNodes: Access = { kind: 'permission', permission: 'cluster.nodes!read' };

export const GetNodeStatuses = defineRoute({
  id: 'nodes.statuses',
  method: 'GET',
  path: '/nodeStatuses',
  access: readNodes,
  answer: { json: nodeStatusesShape },
  doc: 'Health of each node by address.',
});

export const GetOwnNode = defineRoute({
  id: 'nodes.self',
  method: 'GET',
  path: '/nodes/self',
  access: readNodes,
  openBeforeProvisioning: true,
  answer: { json: detailedNodeShape },
  doc: 'This node with its storage.',
});

export const GetNode = defineRoute({
  id: 'nodes.get',
  method: 'GET',
  path: '/nodes/:node',
  access: readNodes,
  answer: { json: detailedNodeShape },
  doc: 'One node with its storage, by its node name.',
});
