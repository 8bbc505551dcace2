// Moves a shard to another member of its in-sync set: the active accepts no more writes, waits until every member has all
// of its changes, and may then report that it has stopped. If that takes too long, it serves again and retries later.
import type { Clock } from '#ports/clock.ts';
import type { Bucket } from '../bucket/bucket.ts';

/** The longest time for which requests wait. */
const durationMsMax = 1_000;
const retryMs = 2_000;

export interface HandoverOptions {
  /** The vbuckets of the shard. */
  vbs: readonly number[];
  bucket: Bucket;
  clock: Clock;
}

export class Handover {
  private readonly options: HandoverOptions;
  private sinceMs: number | null = null;
  private notBeforeMs = -Infinity;

  constructor(options: HandoverOptions) {
    this.options = options;
  }

  get isUnderWay(): boolean {
    return this.sinceMs !== null;
  }

  /** Begins or ends the handover; true: it has begun now. */
  follow(isWanted: boolean): boolean {
    const { bucket, clock, vbs } = this.options;
    const now = clock.monotonicMs();
    if (this.sinceMs !== null && (!isWanted || now - this.sinceMs > durationMsMax)) {
      this.notBeforeMs = now + retryMs;
      this.end();
    }
    if (!isWanted || this.sinceMs !== null || now < this.notBeforeMs) return false;
    this.sinceMs = now;
    bucket.handOver(vbs, true);
    return true;
  }

  /** Whether every member has all changes, and no client waits for a durable write. */
  isComplete(): boolean {
    const { bucket, vbs } = this.options;
    if (this.sinceMs === null || !bucket.isResolved(vbs)) return false;
    return vbs.every((vb) => bucket.progress.committedSeqno(vb) >= (bucket.columns.highSeqno[vb] as number));
  }

  /** `staysActive`: this node still serves the shard. */
  end(staysActive = true): void {
    if (this.sinceMs === null) return;
    this.sinceMs = null;
    this.options.bucket.handOver(this.options.vbs, false, staysActive);
  }
}
