// What the orchestrator reads of the cluster's nodes.
import type { ClusterState, NodeState } from '../config/cluster-state.ts';
import type { DataNode } from '../topology/plan-map.ts';

/** Nodes without chosen services run the data service. */
export const isDataNode = ({ services }: NodeState): boolean => services?.includes('kv') ?? true;

/** All nodes with the data service, in the order of their names. */
export function dataNodes({ nodes }: ClusterState): DataNode[] {
  const data = nodes.filter(isDataNode).sort((a, b) => (a.otpNode < b.otpNode ? -1 : 1));
  return data.map(({ uuid, group }) => ({ id: uuid, group: group ?? '' }));
}
