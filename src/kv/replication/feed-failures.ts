// Failed attempts to feed the copies of a shard, as from a file that cannot be read: how long the next attempts wait, and which of them are
// logged. Each attempt reads the same file, so that without pauses one file would keep its reading thread and the log busy.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ShardRef } from './frames.ts';

/** The longest pause between attempts. */
const pauseMsMax = 5_000;
/** Failures for the same reason are logged no more often than this. */
const logEveryMs = 10_000;

export interface FeedFailuresOptions {
  ref: Pick<ShardRef, 'bucket' | 'shard'>;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Pick<Log, 'error'>;
}

export class FeedFailures {
  private readonly options: FeedFailuresOptions;
  /** By node: how many attempts have failed since its copy followed. */
  private readonly counts = new Map<string, number>();
  private logged: { readonly reason: string; readonly ms: number } | null = null;

  constructor(options: FeedFailuresOptions) {
    this.options = options;
  }

  failed(node: string, reason: string): void {
    const { clock, log, ref } = this.options;
    const attempts = (this.counts.get(node) ?? 0) + 1;
    this.counts.set(node, attempts);
    const ms = clock.monotonicMs();
    if (this.logged?.reason === reason && ms - this.logged.ms < logEveryMs) return;
    this.logged = { reason, ms };
    log.error('replication.feed_failed', { bucket: ref.bucket, shard: ref.shard, node, reason, attempts });
  }

  /** The copy has everything. */
  ended(node: string): void {
    this.counts.delete(node);
  }

  /** The pause before the next attempt, which is `firstMs` after an attempt that did not fail, and doubles with each failure. */
  pauseMs(node: string, firstMs: number): number {
    const count = this.counts.get(node) ?? 0;
    return count === 0 ? firstMs : Math.min(firstMs * 2 ** (count - 1), pauseMsMax);
  }
}
