// The shards of a bucket that this node hands over, and those that were handed over to this process. Few are handed over at a time: requests for
// each of them wait, while all handovers need the same disks, map and processors.
import type { Clock } from '#ports/clock.ts';
import type { ShardChange, ShardSpec } from '../admin.ts';

/** How many handovers are under way at most. They begin in one check, so that they share the writes of the map. */
const atOnceMax = 2;
/** Further handovers wait for successors that have not confirmed, at most for this time. */
const waitMsMax = 1_000;

interface Begun {
  readonly epoch: number;
  readonly ms: number;
}

export class Handovers {
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  /** When the present check began. */
  private checkMs = -Infinity;
  /** By shard: those that this node has begun to hand over, and whose successors have not confirmed. */
  private readonly begun = new Map<number, Begun>();
  /**
   * Shards that were handed over to this process, with the epochs whose confirmation it has requested. The node may see the confirmation in the
   * map before it gets the answer to the request.
   */
  private readonly taken = new Map<number, number>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.clock = clock;
  }

  /** Removes the handovers whose successors have confirmed, so that others can begin. */
  follow(specs: readonly ShardSpec[]): void {
    for (const [shard, { epoch }] of this.begun) {
      const spec = specs[shard];
      if (spec === undefined || (spec.epoch > epoch && spec.confirmed !== undefined))
        this.begun.delete(shard);
    }
  }

  /** Called before each check of the shards. */
  beginCheck(): void {
    this.checkMs = this.clock.monotonicMs();
  }

  /** Begins the handover of a shard, if it may begin in this check. Returns whether it has begun. */
  begin(shard: number, epoch: number): boolean {
    const ms = this.checkMs;
    const recent = [...this.begun.values()].filter((begun) => ms - begun.ms <= waitMsMax);
    if (recent.length >= atOnceMax || recent.some((begun) => begun.ms < ms)) return false;
    this.begun.set(shard, { epoch, ms });
    return true;
  }

  /** This node serves the shard again. */
  abandon(shard: number): void {
    this.begun.delete(shard);
  }

  /** Called before the change is requested. */
  noteTaken(change: ShardChange, spec: ShardSpec | undefined): void {
    if (change.kind !== 'confirm' || change.restarted || !spec?.isHandedOver) return;
    if (spec.epoch === change.epoch) this.taken.set(change.shard, change.epoch);
  }

  /**
   * Whether the shard was handed over to this process in this epoch: then all nodes of its in-sync set have all of its changes. Returns true at
   * most once.
   */
  isTaken(shard: number, epoch: number): boolean {
    const isTaken = this.taken.get(shard) === epoch;
    this.taken.delete(shard);
    return isTaken;
  }
}
