// The cluster after the end of a rebalance or failover.
import type { ClusterState, RebalanceOutcome } from '../config/cluster-state.ts';
import { withoutMembers } from '../config/removed-nodes.ts';
import { withCounter } from './counters.ts';

export function withoutPlan({ balance, ...cluster }: ClusterState, outcome: RebalanceOutcome): ClusterState {
  const isDone = outcome.outcome === 'completed';
  const failing = isDone ? (balance?.failing ?? []) : [];
  const staying = withoutMembers(cluster, isDone ? (balance?.ejected ?? []) : []);
  const nodes = staying.nodes.map((node) =>
    failing.includes(node.uuid) ? { ...node, membership: 'inactiveFailed' as const } : node,
  );
  const ended = { ...staying, nodes, lastBalance: outcome };
  const next = isDone && outcome.kind === 'rebalance' ? rebalanced(ended, balance?.isOutdated) : ended;
  // The maps do not show whether actives were moved by a plan that did not finish or were promoted after a crash. Failovers move none.
  const isUnfinished = !isDone && outcome.kind !== 'failover';
  const marked = isUnfinished ? { ...next, needsRebalance: true as const } : next;
  return withCounter(marked, outcome.kind, endNames[outcome.outcome]);
}

/** `isOutdated`: some of the maps may have been planned before a change that another rebalance must take into account. */
const rebalanced = ({ needsRebalance, ...state }: ClusterState, isOutdated = false): ClusterState => ({
  ...state,
  ...(isOutdated && needsRebalance && { needsRebalance }),
  nodes: state.nodes.map(({ keepsCopies: __, newlyActive: ___, ...node }) => node),
});

const endNames = { completed: 'success', stopped: 'stop', failed: 'fail' } as const;
