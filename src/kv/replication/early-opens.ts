// Requests of actives to feed copies that this node does not have yet, because the actives applied the new map earlier. They are answered
// once this node has applied it; otherwise the actives would ask again only after a second.
import type { Clock } from '#ports/clock.ts';
import type { Open } from './frames.ts';

/** One more, and all are discarded: their actives ask again. */
export const earlyOpensMax = 4_096;
/** An active asks again after this time. */
const validMs = 1_000;

interface EarlyOpen {
  readonly node: string;
  readonly open: Open;
  readonly sinceMs: number;
}

export class EarlyOpens {
  /** By uuid of the bucket and shard: the newest request of the latest active. */
  private readonly opens = new Map<string, EarlyOpen>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Keeps the request of the later active, which has the higher epoch. `sinceMs`: when it arrived, if it is added again. */
  add(node: string, open: Open, sinceMs = this.clock.monotonicMs()): void {
    const key = keyOf(open);
    if ((this.opens.get(key)?.open.epoch ?? 0) > open.epoch) return;
    // Requests for buckets that this node never gets stay until there are too many requests.
    if (this.opens.size >= earlyOpensMax && !this.opens.has(key)) this.opens.clear();
    this.opens.set(key, { node, open, sinceMs });
  }

  /** The active has asked again, and was answered. */
  remove(open: Open): void {
    this.opens.delete(keyOf(open));
  }

  /** Removes the early requests of a bucket. Returns those that the active has not repeated since. */
  drain(bucketUuid: string): EarlyOpen[] {
    const validFromMs = this.clock.monotonicMs() - validMs;
    return this.removed(({ open }) => open.bucket === bucketUuid).filter(
      ({ sinceMs }) => sinceMs >= validFromMs,
    );
  }

  /** The connection to the node was lost: the active asks again on the next one. */
  discard(node: string): void {
    this.removed((early) => early.node === node);
  }

  private removed(matches: (early: EarlyOpen) => boolean): EarlyOpen[] {
    const found = [...this.opens].filter(([, early]) => matches(early));
    for (const [key] of found) this.opens.delete(key);
    return found.map(([, early]) => early);
  }
}

const keyOf = ({ bucket, shard }: Open): string => `${bucket} ${shard}`;
