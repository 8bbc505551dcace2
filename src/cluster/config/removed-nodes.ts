// Nodes that left the cluster: a node that finds its id here knows that it was removed, and may delete its documents and configuration.
import type { ClusterState } from './cluster-state.ts';

/** How many ids are kept: the newest. */
const leftMax = 100;

/** The cluster without these nodes. */
export function withoutMembers(state: ClusterState, ids: readonly string[]): ClusterState {
  if (ids.length === 0) return state;
  const others = (state.left ?? []).filter((id) => !ids.includes(id));
  return {
    ...state,
    nodes: state.nodes.filter(({ uuid }) => !ids.includes(uuid)),
    left: [...ids, ...others].slice(0, leftMax),
  };
}
