// Records that other nodes were promoted to actives of this node's shards, as after `kill -9` and a restart: the node works, but serves fewer
// shards than its share, or none, until a rebalance. No other event or state shows that.
import type { Clock, Timer } from '#ports/clock.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { EventLog } from './event-log.ts';

export interface PromotedElsewhereDeps {
  events: Pick<EventLog, 'record'>;
  view: Pick<ClusterView, 'cluster' | 'dataNodes' | 'liveBuckets' | 'map' | 'onChange' | 'self'>;
  clock: Pick<Clock, 'after'>;
}

/** The event is recorded this long after the last promotion, as the shards are promoted one after the other. */
const settledMs = 10_000;

export class PromotedElsewhere {
  readonly #deps: PromotedElsewhereDeps;
  /** By bucket, how many shards this node served at the last change. */
  readonly #served = new Map<string, number>();
  /** Buckets of which this node serves fewer shards than before, or that are new to it. */
  readonly #reduced = new Set<string>();
  #subscription: { stop(): void } | null = null;
  #timer: Timer | null = null;

  constructor(deps: PromotedElsewhereDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#subscription = this.#deps.view.onChange(() => this.#compare());
    this.#compare();
  }

  stop(): void {
    this.#subscription?.stop();
    this.#timer?.cancel();
  }

  #compare(): void {
    const { view, clock } = this.#deps;
    for (const { uuid } of view.liveBuckets()) {
      const served = this.#servedOf(uuid);
      // When this node starts, other nodes may have been promoted already.
      if (served < (this.#served.get(uuid) ?? Infinity) && view.cluster.balance === undefined) {
        this.#reduced.add(uuid);
        this.#timer?.cancel();
        this.#timer = clock.after(settledMs, () => this.#record());
      }
      this.#served.set(uuid, served);
    }
  }

  #record(): void {
    const { events, view } = this.#deps;
    const reduced = view.liveBuckets().filter(({ uuid }) => this.#reduced.has(uuid));
    this.#reduced.clear();
    const isDataNode = view.dataNodes.some(({ uuid }) => uuid === view.self.uuid);
    // A node that was failed over serves no shards, and a rebalance, failover or recovery that runs decides which nodes serve them.
    if (view.cluster.balance !== undefined || !isDataNode) return;
    for (const { uuid, name } of reduced) {
      const served = this.#servedOf(uuid);
      const share = Math.floor((view.map(uuid)?.shards.length ?? 0) / view.dataNodes.length);
      if (served >= share) continue;
      events.record('shards_promoted_elsewhere', { bucket: name, bucket_uuid: uuid, served, share });
    }
  }

  #servedOf(bucketUuid: string): number {
    const { view } = this.#deps;
    const map = view.map(bucketUuid);
    const own = map?.nodes.indexOf(view.self.uuid) ?? -1;
    return own < 0 ? 0 : (map?.shards.filter(({ chain }) => chain[0] === own).length ?? 0);
  }
}
