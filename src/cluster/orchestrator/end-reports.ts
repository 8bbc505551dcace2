// Reports the ends of plans: events, mail, and the count of automatic failovers. The write that ends a plan stores its end in key `cluster` until
// it was reported, so that the next orchestrator reports it if this one dies in between. An end is reported twice only if the orchestrator
// dies, or its term ends, between the report and the write that removes it.
import { type ConfigStore, update } from '#replog/config-store.ts';
import { type ClusterState, clusterKey, type PlanEnd } from '../config/cluster-state.ts';

/** How many ends are kept: the newest. */
const endsMax = 20;

export interface EndReportsDeps {
  store: ConfigStore;
  view: { readonly cluster: ClusterState };
  /** The term in which this node is the orchestrator; null: it is not. */
  term: () => number | null;
  /** Called with the end of each plan. */
  ended: (end: PlanEnd) => void;
}

export class EndReports {
  readonly #deps: EndReportsDeps;
  /** Ids of the plans that this process has reported and that the configuration may still have. */
  #reported: string[] = [];

  constructor(deps: EndReportsDeps) {
    this.#deps = deps;
  }

  get areDue(): boolean {
    return this.#deps.view.cluster.unreported !== undefined && this.#deps.term() !== null;
  }

  /** Reports the ends that are due, in their order. */
  async report(): Promise<void> {
    if (!this.areDue) return;
    const found = await this.#deps.store.get<ClusterState>(clusterKey);
    const ends = found?.value.unreported ?? [];
    this.#reported = this.#reported.filter((reported) => ends.some(({ id }) => id === reported));
    await this.#reportAll(ends);
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
