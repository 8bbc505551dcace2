// What the orchestrator reads of the cluster's nodes.
import {
  type ClusterState,
  isDataNode,
  type NodeState,
  type RebalancePlan,
} from '../config/cluster-state.ts';
import { plannedNode } from '../server-groups/groups.ts';
import type { DataNode } from '../topology/plan-map.ts';

/**
 * The data nodes that count when it is decided whether `failing` may be failed over. With two, neither can know whether the other is down or
 * unreachable, and both go on serving. A node that was unreachable while a third one was added may still consider itself one of two, so a new
 * node counts only after the rebalance that activated it, in which every node takes part.
 */
export function nodesCountedForFailover(
  active: readonly NodeState[],
  failing: readonly NodeState[],
): NodeState[] {
  const mayBePair = failing.some((node) => isDataNode(node) && !node.newlyActive);
  return active.filter((node) => isDataNode(node) && !(mayBePair && node.newlyActive));
}

/** All nodes with the data service, in the order of their names. */
export function dataNodes(cluster: Pick<ClusterState, 'groups' | 'nodes'>): DataNode[] {
  const data = cluster.nodes.filter(isDataNode).sort((a, b) => (a.otpNode < b.otpNode ? -1 : 1));
  return data.map((node) => plannedNode(cluster, node));
}

/** Whether the plan needs the node to run. A node that was failed over leaves without taking part. */
export function isNeeded({ nodes }: ClusterState, plan: RebalancePlan, id: string): boolean {
  const isActive = nodes.some(({ uuid, membership }) => uuid === id && membership === 'active');
  const handsOver = plan.kind === 'gracefulFailover' && plan.failing?.includes(id);
  return plan.nodes.includes(id) || handsOver || (isActive && plan.ejected.includes(id));
}

/** Ids of the nodes that return with their files: by delta recovery. */
export function returningNodes({ nodes }: ClusterState, plan: RebalancePlan): string[] {
  const returning = nodes.filter(({ keepsCopies, uuid }) => keepsCopies && plan.nodes.includes(uuid));
  return returning.map(({ uuid }) => uuid);
}

/** Whether an active data node leaves, or is failed over gracefully, when the plan has completed. */
export function endsDataNode(
  { nodes }: ClusterState,
  { ejected, failing = [], kind }: RebalancePlan,
): boolean {
  const gone = [...ejected, ...(kind === 'gracefulFailover' ? failing : [])];
  return nodes.some((node) => gone.includes(node.uuid) && node.membership === 'active' && isDataNode(node));
}
