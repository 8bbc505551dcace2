// Routes of server groups: nodes that may fail together. The copies of a document are in different groups where possible.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import type { NodeGroup, NodeState } from '../config/cluster-state.ts';
import { restAddressOf } from '../config/node-network.ts';

export const groupsPath = '/pools/default/serverGroups';
const path = groupsPath;
const read: Access = { kind: 'permission', permission: 'cluster.server_groups!read' };
const write: Access = { kind: 'permission', permission: 'cluster.server_groups!write' };
const emptyList = { json: shape.array(shape.any) };

const memberShape = shape.object({
  otpNode: shape.string,
  nodeUUID: shape.string,
  hostname: shape.string,
  clusterMembership: shape.string,
  services: shape.array(shape.string),
});
const groupShape = shape.object({
  name: shape.string,
  uri: shape.string,
  addNodeURI: shape.string,
  nodes: shape.array(memberShape),
});

export const ListServerGroups = defineRoute({
  id: 'server_groups.list',
  method: 'GET',
  path,
  access: read,
  answer: { json: shape.object({ groups: shape.array(groupShape), uri: shape.string }) },
  doc: 'The server groups with their nodes. `uri` is the address for moving nodes; it changes with the groups.',
});

export const CreateServerGroup = defineRoute({
  id: 'server_groups.create',
  method: 'POST',
  path,
  access: write,
  bodyKind: 'form',
  answer: emptyList,
  doc: 'Creates a group without nodes, by its `name`.',
});

export const MoveServers = defineRoute({
  id: 'server_groups.move',
  method: 'PUT',
  path,
  access: write,
  bodyKind: 'json',
  answer: emptyList,
  doc: 'Sets which nodes each group has: `{"groups":[{"uri":…,"nodes":[{"otpNode":…}]}]}`, with every group and every node. The parameter `rev` is that of the `uri` in the list. The change takes effect at the next rebalance.',
});

export const RenameServerGroup = defineRoute({
  id: 'server_groups.rename',
  method: 'PUT',
  path: `${path}/:uuid`,
  access: write,
  bodyKind: 'form',
  answer: emptyList,
  doc: 'Renames a group.',
});

export const DeleteServerGroup = defineRoute({
  id: 'server_groups.delete',
  method: 'DELETE',
  path: `${path}/:uuid`,
  access: write,
  answer: emptyList,
  doc: 'Deletes a group without nodes.',
});

export const groupUri = (uuid: string): string => `${path}/${uuid}`;

export const groupsUri = (revision: number): string => `${path}?rev=${revision}`;

export const groupsAnswer = (
  groups: readonly { readonly group: NodeGroup; readonly nodes: readonly NodeState[] }[],
  revision: number,
) => ({
  groups: groups.map(({ group, nodes }) => ({
    name: group.name,
    uri: groupUri(group.uuid),
    addNodeURI: `${groupUri(group.uuid)}/addNode`,
    nodes: nodes.map(memberOf),
  })),
  uri: groupsUri(revision),
});

const memberOf = (node: NodeState) => ({
  otpNode: node.otpNode,
  nodeUUID: node.uuid,
  hostname: restAddressOf(node),
  clusterMembership: node.membership,
  services: node.services ?? ['kv'],
});
