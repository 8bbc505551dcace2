// The running rebalance, and how the last one ended, as clients read them.
import type {
  ClusterState,
  RebalanceKind,
  RebalanceOutcome,
  RebalancePlan,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { type Progress, progressOf } from './shard-moves.ts';

type RebalanceView = Pick<ClusterView, 'cluster' | 'liveBuckets' | 'map'>;

/** How often clients are to read the task while the rebalance runs. */
const refreshSeconds = 0.25;

export const reportPath = '/logs/rebalanceReport';

const nameOf: Record<RebalanceKind, string> = {
  rebalance: 'Rebalance',
  gracefulFailover: 'Graceful failover',
  failover: 'Failover',
};

export interface RebalanceProgress {
  /** The share of the work that is done, 0 to 1. */
  readonly all: number;
  /** By name of the node: the share of its part of the work that is done, 0 to 1. */
  readonly byNode: Readonly<Record<string, number>>;
}

/** Null while no rebalance runs. */
export function rebalanceProgress(view: RebalanceView): RebalanceProgress | null {
  const { balance } = view.cluster;
  if (balance === undefined) return null;
  const parts = view.liveBuckets().flatMap(({ uuid }) => {
    const map = view.map(uuid);
    if (map === null) return [];
    // While the rebalance is being stopped, the map has the id with a suffix.
    return [map.forward?.plan.startsWith(balance.id) ? progressOf(map) : null];
  });
  const concerned = view.cluster.nodes.filter(({ uuid }) =>
    [...balance.nodes, ...balance.ejected].includes(uuid),
  );
  const byNode = concerned.map(({ uuid, otpNode }) => [
    otpNode,
    share(parts.map((part) => part?.byNode[uuid] ?? null)),
  ]);
  return { all: share(parts.map((part) => part?.all ?? null)), byNode: Object.fromEntries(byNode) };
}

/** The answer of `/pools/default/rebalanceProgress`. */
export function progressAnswer(view: RebalanceView): Record<string, unknown> {
  const progress = rebalanceProgress(view);
  if (progress === null) return { status: 'none', ...failureOf(view.cluster) };
  const nodes = Object.entries(progress.byNode).map(([name, done]) => [name, { progress: done }]);
  return { status: 'running', ...Object.fromEntries(nodes) };
}

/** The entry of `/pools/default/tasks`, which is always there. */
export function rebalanceTask(view: RebalanceView): Record<string, unknown> {
  const { balance, lastBalance } = view.cluster;
  const progress = rebalanceProgress(view);
  const common = { type: 'rebalance', statusIsStale: false, masterRequestTimedOut: false };
  if (balance === undefined || progress === null)
    return {
      ...common,
      ...(lastBalance && { statusId: lastBalance.id, subtype: lastBalance.kind }),
      ...(lastBalance?.named && { lastReportURI: `${reportPath}?reportID=${lastBalance.id}` }),
      status: 'notRunning',
      ...failureOf(view.cluster),
    };
  const nodes = Object.entries(progress.byNode).map(([name, done]) => [name, { progress: 100 * done }]);
  return {
    ...common,
    statusId: balance.id,
    subtype: balance.kind,
    recommendedRefreshPeriod: refreshSeconds,
    status: 'running',
    progress: 100 * progress.all,
    perNode: Object.fromEntries(nodes),
    detailedProgress: {},
  };
}

/** What the report of an ended plan needs in addition to its outcome. */
export function reportedPlan(
  { nodes }: ClusterState,
  plan: RebalancePlan,
): Pick<RebalanceOutcome, 'startedMs' | 'named'> {
  const namesOf = (ids: readonly string[] = []): string[] =>
    nodes.flatMap(({ uuid, otpNode }) => (ids.includes(uuid) ? [otpNode] : []));
  const { ejected, failing, startedMs } = plan;
  return {
    startedMs,
    named: { kept: namesOf(plan.nodes), ejected: namesOf(ejected), failed: namesOf(failing) },
  };
}

/** The report of the plan that ended last. Null if that plan has another id, or no plan has ended. */
export function lastReport(
  { cluster }: Pick<RebalanceView, 'cluster'>,
  id: string | undefined,
): Record<string, unknown> | null {
  const { lastBalance: last } = cluster;
  if (last?.named === undefined || (id !== undefined && id !== last.id)) return null;
  const { endedMs, named, startedMs = endedMs } = last;
  return {
    rebalanceId: last.id,
    operation: last.kind,
    nodesInfo: { keep_nodes: named.kept, eject_nodes: named.ejected, failed_nodes: named.failed },
    stageInfo: {},
    startTime: new Date(startedMs).toISOString(),
    completedTime: new Date(endedMs).toISOString(),
    timeTaken: Math.max(0, endedMs - startedMs),
    completionMessage: completionOf(last),
  };
}

function completionOf({ kind, outcome, reason }: RebalanceOutcome): string {
  const name = nameOf[kind];
  if (outcome === 'completed') return `${name} completed successfully.`;
  return outcome === 'stopped'
    ? `${name} stopped by user.`
    : `${name} failed: ${reason ?? 'no reason is known'}`;
}

function failureOf({ lastBalance }: ClusterState): { errorMessage?: string } {
  if (lastBalance?.outcome !== 'failed') return {};
  const name = nameOf[lastBalance.kind];
  return { errorMessage: `${name} failed. See logs for detailed reason. You can try again.` };
}

/** The share of the work that is done, 0 to 1. `parts`: one for each bucket; null: the rebalance has not begun with the bucket. */
function share(parts: readonly (Progress | null)[]): number {
  if (parts.length === 0) return 0;
  const done = parts.reduce((sum, part) => {
    if (part === null) return sum;
    return sum + (part.total === 0 ? 1 : part.done / part.total);
  }, 0);
  return done / parts.length;
}
