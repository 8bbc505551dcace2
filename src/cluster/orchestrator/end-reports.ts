// Reports the ends of plans: events, mail, and the count of automatic failovers. The write that ends a plan stores its end in key `cluster` until
// it was reported, so that the next orchestrator reports it if this one dies in between: after a pause, in which an orchestrator that lives has
// removed it. Where the plan removes the orchestrator itself, the end names another node that reports it at once: the next orchestrator begins
// some seconds later. An end is reported twice only if the node that reports it dies, or its term ends, between the report and the write that
// removes the end.

import type { Clock } from '#ports/clock.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import { type ClusterState, clusterKey, type PlanEnd } from '../config/cluster-state.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { aloneTerm } from './orchestrator-lease.ts';

/** How many ends are kept: the newest. */
const endsMax = 20;
/** How long the end of a plan that an earlier orchestrator carried out is left to it. */
const earlierOrchestratorMs = 5_000;

export interface EndReportsDeps {
  store: ConfigStore;
  identity: Pick<NodeIdentity, 'nodeId'>;
  view: { readonly cluster: ClusterState };
  /** The term in which this node is the orchestrator; null: it is not. */
  term: () => number | null;
  /** Called with the end of each plan. */
  ended: (end: PlanEnd) => void;
  clock: Pick<Clock, 'monotonicMs'>;
}

export class EndReports {
  readonly #deps: EndReportsDeps;
  /** Ids of the plans that this process has reported and that the configuration may still have. */
  #reported: string[] = [];
  /** When this process saw the ends of earlier orchestrators, by the ids of the plans. */
  readonly #seenMs = new Map<string, number>();

  constructor(deps: EndReportsDeps) {
    this.#deps = deps;
  }

  get areDue(): boolean {
    return (this.#deps.view.cluster.unreported ?? []).some((end) => this.#isMine(end));
  }

  /** Whether this node reports the end, now or later. */
  #isMine({ reporter, term }: PlanEnd): boolean {
    if (reporter === this.#deps.identity.nodeId) return true;
    const own = this.#deps.term();
    return own !== null && (term <= own || own === aloneTerm);
  }

  #isDue(end: PlanEnd): boolean {
    if (!this.#isMine(end)) return false;
    if (end.reporter === this.#deps.identity.nodeId) return true;
    if (end.term === this.#deps.term() || this.#reported.includes(end.id)) return true;
    const now = this.#deps.clock.monotonicMs();
    const sinceMs = this.#seenMs.get(end.id) ?? now;
    this.#seenMs.set(end.id, sinceMs);
    return now - sinceMs >= earlierOrchestratorMs;
  }

  /** Reports the ends that are due, in their order. */
  async report(): Promise<void> {
    if (!this.areDue) return;
    const found = await this.#deps.store.get<ClusterState>(clusterKey);
    const ends = found?.value.unreported ?? [];
    const isThere = (plan: string): boolean => ends.some(({ id }) => id === plan);
    this.#reported = this.#reported.filter(isThere);
    for (const plan of this.#seenMs.keys()) if (!isThere(plan)) this.#seenMs.delete(plan);
    await this.#reportAll(ends.filter((end) => this.#isDue(end)));
  }

  /** Reports an end that this process has just written, unless another node is the orchestrator by now. */
  async reportOwn(end: PlanEnd): Promise<void> {
    if (this.#deps.term() !== null) await this.#reportAll([end]);
  }

  async #reportAll(ends: readonly PlanEnd[]): Promise<void> {
    for (const end of ends) {
      if (this.#reported.includes(end.id)) continue;
      this.#reported.push(end.id);
      this.#deps.ended(end);
    }
    if (ends.length > 0) await this.#remove(ends);
  }

  async #remove(ends: readonly PlanEnd[]): Promise<void> {
    await update<ClusterState | null>(this.#deps.store, clusterKey, null, (cluster) => {
      if (cluster === null) return cluster;
      const { unreported = [], ...state } = cluster;
      const others = unreported.filter((other) => !ends.some(({ id }) => id === other.id));
      return others.length > 0 ? { ...state, unreported: others } : state;
    });
  }
}

/** The cluster with an end that is to be reported. */
export function withEnd(state: ClusterState, end: PlanEnd): ClusterState {
  return { ...state, unreported: [...(state.unreported ?? []), end].slice(-endsMax) };
}
