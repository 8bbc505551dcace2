// Counters of rebalances and failovers, by their published names (`rebalance_start`, `graceful_failover_success`, …).
import type { ClusterState, RebalanceKind } from '../config/cluster-state.ts';

const names: Record<RebalanceKind, string> = {
  rebalance: 'rebalance',
  gracefulFailover: 'graceful_failover',
  failover: 'failover',
};

export function withCounter(
  state: ClusterState,
  kind: RebalanceKind,
  what: 'start' | 'success' | 'fail' | 'stop',
): ClusterState {
  const name = `${names[kind]}_${what}`;
  const counters = state.counters ?? {};
  return { ...state, counters: { ...counters, [name]: (counters[name] ?? 0) + 1 } };
}
