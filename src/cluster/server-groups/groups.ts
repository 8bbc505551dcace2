// The groups of a cluster's nodes. Until the first change there is one group, and every node is in it.
import { createHash } from 'node:crypto';
import type { ClusterState, NodeGroup, NodeState } from '../config/cluster-state.ts';
import type { DataNode } from '../topology/plan-map.ts';

const firstGroup: NodeGroup = { uuid: '0', name: 'Group 1' };

type Grouped = Pick<ClusterState, 'groups' | 'nodes'>;

export const groupsOf = ({ groups }: Pick<ClusterState, 'groups'>): readonly NodeGroup[] =>
  groups ?? [firstGroup];

/** The group that a node is in; a node whose group is unknown is in the first. */
export function groupOfNode(
  cluster: Pick<ClusterState, 'groups'>,
  { group }: Pick<NodeState, 'group'>,
): NodeGroup {
  const groups = groupsOf(cluster);
  return groups.find(({ uuid }) => uuid === group) ?? groups[0] ?? firstGroup;
}

/** The node as maps are planned with it. */
export const plannedNode = (cluster: Pick<ClusterState, 'groups'>, node: NodeState): DataNode => ({
  id: node.uuid,
  group: groupOfNode(cluster, node).uuid,
});

export const nodesInGroup = (cluster: Grouped, uuid: string): NodeState[] =>
  cluster.nodes.filter((node) => groupOfNode(cluster, node).uuid === uuid);

/** Changes when a group changes, or the group of a node: 28 bits of a hash. */
export function groupsRevision(cluster: Grouped): number {
  const nodes = cluster.nodes.map((node) => [node.otpNode, groupOfNode(cluster, node).uuid]);
  const text = JSON.stringify([groupsOf(cluster).map(({ uuid, name }) => [uuid, name]), nodes]);
  return Number.parseInt(createHash('sha256').update(text).digest('hex').slice(0, 7), 16);
}
