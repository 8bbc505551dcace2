// Tries a failed rebalance again if the settings say so: key `cluster` has its plan and the time of the next attempt, at which the
// orchestrator starts it. Another rebalance, a failover, a change of the nodes, the settings or an administrator cancels it.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import type { Random } from '#ports/random.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type {
  ClusterState,
  RebalanceOutcome,
  RebalancePlan,
  RebalanceRetry,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { withCounter } from './counters.ts';

export const retrySetting = 'retryRebalance';

export interface RetrySettings {
  readonly enabled: boolean;
  /** Seconds between the failure and the next attempt. */
  readonly afterTimePeriod: number;
  readonly maxAttempts: number;
}

export const retryDefaults: RetrySettings = { enabled: false, afterTimePeriod: 300, maxAttempts: 1 };

const checkEveryMs = 1_000;
/** The accepted values of `afterTimePeriod`, in seconds. */
export const retryPeriodRange = { min: 5, max: 3600 };

/** The cluster after the end of a plan, with the next attempt if one is due. */
export function withRetry(
  { retry: _, ...state }: ClusterState,
  plan: RebalancePlan,
  outcome: RebalanceOutcome,
  settings: RetrySettings,
): ClusterState {
  const attemptsLeft = plan.attemptsLeft ?? settings.maxAttempts;
  const isDue = plan.kind === 'rebalance' && outcome.outcome === 'failed' && attemptsLeft > 0;
  if (!settings.enabled || !isDue) return state;
  const { id, nodes, ejected } = plan;
  const dueMs = outcome.endedMs + settings.afterTimePeriod * 1000;
  return { ...state, retry: { id, nodes, ejected, dueMs, attemptsLeft } };
}

export interface RebalanceRetriesDeps {
  view: Pick<ClusterView, 'cluster'>;
  cluster: Pick<ClusterStore, 'change'>;
  /** The term in which this node is the orchestrator; null: it is not. */
  term: () => number | null;
  settings: () => RetrySettings;
  /** Called after an attempt to write a plan, even one that changed nothing. */
  planned: () => void;
  clock: Clock;
  random: Random;
  log: Log;
}

export class RebalanceRetries {
  readonly #deps: RebalanceRetriesDeps;
  readonly #checks: PeriodicTask;

  constructor(deps: RebalanceRetriesDeps) {
    this.#deps = deps;
    const { clock, log } = deps;
    const onError = ({ message }: Error) => log.warn('rebalance.retry_failed', { reason: message });
    this.#checks = new PeriodicTask({ everyMs: checkEveryMs, clock, onError });
  }

  start(): void {
    this.#checks.start(() => this.#check());
  }

  stop(): void {
    void this.#checks.stop();
  }

  async #check(): Promise<void> {
    const { view, clock, term, settings } = this.#deps;
    const { retry, balance } = view.cluster;
    if (retry === undefined || balance !== undefined || term() === null) return;
    const leftMs = retry.dueMs - clock.wallMs();
    // More than the longest period is left: the clock was ahead when the rebalance failed and was set back since.
    const isDue = leftMs <= 0 || leftMs > retryPeriodRange.max * 1000;
    if (isDue || !settings().enabled) await this.#retry(retry);
  }

  /** Starts the rebalance, or cancels it where it is no longer wanted or possible. */
  async #retry(due: RebalanceRetry): Promise<void> {
    const { cluster, clock, random, planned, settings } = this.#deps;
    await cluster.change((state) => {
      const { retry, ...rest } = state;
      if (retry?.id !== due.id || state.balance !== undefined) return state;
      if (!settings().enabled || !isSameCluster(state, retry)) return rest;
      const balance: RebalancePlan = {
        id: random.uuid(),
        kind: 'rebalance',
        term: 0,
        attemptsLeft: retry.attemptsLeft - 1,
        nodes: retry.nodes,
        ejected: retry.ejected,
        startedMs: clock.wallMs(),
      };
      return withCounter({ ...rest, balance }, 'rebalance', 'start');
    });
    planned();
  }
}

/** Whether the cluster has the nodes of the failed rebalance, and no others, and those that it ejects may leave. */
function isSameCluster({ nodes, founder }: ClusterState, retry: RebalanceRetry): boolean {
  const planned = [...retry.nodes, ...retry.ejected];
  if (founder !== undefined && retry.ejected.includes(founder)) return false;
  return nodes.length === planned.length && nodes.every(({ uuid }) => planned.includes(uuid));
}

/** The answer of `/pools/default/pendingRetryRebalance`. */
export function pendingRetry({ retry, nodes }: ClusterState, nowMs: number): Record<string, unknown> {
  if (retry === undefined) return { retry_rebalance: 'not_pending' };
  const names = (ids: readonly string[]): string[] =>
    nodes.filter(({ uuid }) => ids.includes(uuid)).map(({ otpNode }) => otpNode);
  return {
    retry_rebalance: 'pending',
    rebalance_id: retry.id,
    type: 'rebalance',
    attempts_remaining: retry.attemptsLeft,
    retry_after_secs: Math.max(0, Math.ceil((retry.dueMs - nowMs) / 1000)),
    known_nodes: names([...retry.nodes, ...retry.ejected]),
    eject_nodes: names(retry.ejected),
    delta_recovery_buckets: 'all',
  };
}
