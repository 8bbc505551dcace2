// What the orchestrator reads of the cluster's nodes.
import type { ClusterState, NodeState } from '../config/cluster-state.ts';
import type { DataNode } from '../topology/plan-map.ts';

/** Nodes without chosen services run the data service. */
export const isDataNode = ({ services }: NodeState): boolean => services?.includes('kv') ?? true;

/**
 * The data nodes by which these may be failed over. Of two data nodes neither can know whether the other is down or cut off, and either goes on
 * serving alone. A node that was away while a third one became active may not know of it, and serve as one of two: a third node counts
 * once the rebalance that activated it has completed, in which every node took part.
 */
export function countedNodes(active: readonly NodeState[], failing: readonly NodeState[]): NodeState[] {
  const mayBePair = failing.some((node) => isDataNode(node) && !node.newlyActive);
  return active.filter((node) => isDataNode(node) && !(mayBePair && node.newlyActive));
}

/** All nodes with the data service, in the order of their names. */
export function dataNodes({ nodes }: ClusterState): DataNode[] {
  const data = nodes.filter(isDataNode).sort((a, b) => (a.otpNode < b.otpNode ? -1 : 1));
  return data.map(({ uuid, group }) => ({ id: uuid, group: group ?? '' }));
}
