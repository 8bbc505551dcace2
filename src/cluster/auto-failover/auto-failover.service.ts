// Settings of auto-failover, auto-reprovision and failover.
import type { SettingsStore } from '../config/settings.store.ts';

export interface AutoFailoverSettings {
  enabled: boolean;
  /** Seconds without an answer after which a node counts as failed. */
  timeout: number;
  /** Nodes failed over since the last reset. */
  count: number;
  /** Nodes failed over before the last reset and since; absent in a configuration of an older version: those of `count`. */
  total?: number;
  /** The number of nodes that are failed over automatically before an operator must reset `count`. */
  maxCount: number;
  /** Whether a node also counts as failed when its disk fails. */
  diskIssues: boolean;
  /** Seconds of disk failures after which a node counts as failed. */
  diskPeriod: number;
  /** Whether an automatic failover stops a running rebalance. */
  canAbortRebalance: boolean;
  /** Id of the plan whose nodes were counted last; absent: none since the last reset. */
  countedPlan?: string;
}

/** Ephemeral buckets are activated on other nodes after their node restarted. */
export interface AutoReprovisionSettings {
  enabled: boolean;
  /** The number of nodes that are reprovisioned automatically before an operator must reset `count`. */
  maxNodes: number;
  /** Nodes reprovisioned since the last reset. */
  count: number;
}

export interface FailoverSettings {
  /** Whether a failover keeps durable writes. */
  preserveDurableMutations: boolean;
}

const defaults = {
  autoFailover: {
    enabled: true,
    timeout: 120,
    count: 0,
    maxCount: 1,
    diskIssues: false,
    diskPeriod: 120,
    canAbortRebalance: true,
  } satisfies AutoFailoverSettings,
  autoReprovision: { enabled: true, maxNodes: 1, count: 0 } satisfies AutoReprovisionSettings,
  failover: { preserveDurableMutations: true } satisfies FailoverSettings,
};

export class FailoverSettingsService {
  readonly #store: SettingsStore;

  constructor(store: SettingsStore) {
    this.#store = store;
  }

  autoFailover(): Promise<AutoFailoverSettings> {
    return this.#store.read('autoFailover', defaults.autoFailover);
  }

  async changeAutoFailover(changes: Partial<AutoFailoverSettings>): Promise<void> {
    await this.#store.change('autoFailover', defaults.autoFailover, changes);
  }

  /** Counts the nodes of an automatic failover; called again with the same plan, it changes nothing. */
  async countFailedOver({ plan, nodes }: { plan: string; nodes: number }): Promise<void> {
    await this.#store.replace('autoFailover', defaults.autoFailover, (before: AutoFailoverSettings) =>
      before.countedPlan === plan
        ? before
        : {
            ...before,
            count: before.count + nodes,
            total: totalOf(before) + nodes,
            countedPlan: plan,
          },
    );
  }

  /** The number of nodes that were failed over automatically, for `resetCount`. */
  async totalFailovers(): Promise<number> {
    return totalOf(await this.autoFailover());
  }

  /** From now on only the failovers after the first `total` ones are counted; called again with the same number, it changes nothing. */
  async resetCount(total: number): Promise<void> {
    const countIn = (settings: AutoFailoverSettings): number =>
      Math.min(settings.count, Math.max(0, totalOf(settings) - total));
    const current = await this.autoFailover();
    if (countIn(current) === current.count) return;
    await this.#store.replace('autoFailover', defaults.autoFailover, (before: AutoFailoverSettings) => ({
      ...before,
      count: countIn(before),
      total: totalOf(before),
    }));
  }

  autoReprovision(): Promise<AutoReprovisionSettings> {
    return this.#store.read('autoReprovision', defaults.autoReprovision);
  }

  async changeAutoReprovision(changes: Partial<AutoReprovisionSettings>): Promise<void> {
    await this.#store.change('autoReprovision', defaults.autoReprovision, changes);
  }

  failover(): Promise<FailoverSettings> {
    return this.#store.read('failover', defaults.failover);
  }

  changeFailover(changes: Partial<FailoverSettings>): Promise<FailoverSettings> {
    return this.#store.change('failover', defaults.failover, changes);
  }
}

const totalOf = ({ count, total }: AutoFailoverSettings): number => Math.max(total ?? 0, count);
