// For how long this node has had buckets whose files it cannot read or write.
import type { Clock } from '#ports/clock.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';

export interface DiskHealthDeps {
  view: Pick<ClusterView, 'liveBuckets'>;
  data: Pick<DataService, 'measured'>;
  clock: Clock;
}

export class DiskHealth {
  readonly #deps: DiskHealthDeps;
  #sinceMs: number | null = null;

  constructor(deps: DiskHealthDeps) {
    this.#deps = deps;
  }

  /** Milliseconds since the call that first found a problem, 1 at that call; 0: there is none. Called for each heartbeat. */
  failsMs(): number {
    const { view, data, clock } = this.#deps;
    const fails = view.liveBuckets().some(({ uuid }) => (data.measured(uuid)?.problems.length ?? 0) > 0);
    if (!fails) this.#sinceMs = null;
    else this.#sinceMs ??= clock.monotonicMs() - 1;
    return this.#sinceMs === null ? 0 : clock.monotonicMs() - this.#sinceMs;
  }
}
