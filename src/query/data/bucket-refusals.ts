// How long statements retry writes that the data service refuses. A bucket without memory or disk space may refuse all writes for hours:
// statements that wait for it would take the places of statements on other buckets.

/** How long a bucket may refuse all writes before further ones fail at once. */
const refusingMs = 5_000;

/** The refusals of one bucket. */
export class BucketRefusals {
  private sinceMs = -Infinity;
  private lastMs = -Infinity;

  /** Call after a refusal. Returns the time until which the write is retried. */
  untilMs(nowMs: number): number {
    // If no write was refused for `refusingMs`, earlier refusals say nothing about the bucket: the time begins again.
    if (nowMs - this.lastMs > refusingMs) this.sinceMs = nowMs;
    this.lastMs = nowMs;
    return this.sinceMs + refusingMs;
  }

  /** Call after a successful write. */
  accepted(): void {
    this.lastMs = -Infinity;
  }
}
