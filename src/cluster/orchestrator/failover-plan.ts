// Writes a failover as a plan into the configuration's key `cluster`; the orchestrator executes the plan.
import type { ClusterState, NodeState, RebalancePlan } from '../config/cluster-state.ts';
import { withCounter } from './counters.ts';

export interface FailoverPlanOptions
  extends Pick<RebalancePlan, 'id' | 'startedMs' | 'allowUnsafe' | 'automatic'> {
  readonly kind: 'failover' | 'gracefulFailover';
}

export function failoverPlan(
  state: ClusterState,
  failedOver: readonly NodeState[],
  options: FailoverPlanOptions,
): ClusterState {
  const ids = failedOver.map(({ uuid }) => uuid);
  const staying = state.nodes.filter(
    ({ uuid, membership }) => membership === 'active' && !ids.includes(uuid),
  );
  const nodes = staying.map(({ uuid }) => uuid);
  const { retry: _, ...rest } = state;
  const balance = { ...options, term: 0, ejected: [], failing: ids, nodes };
  return withCounter({ ...rest, balance }, options.kind, 'start');
}
