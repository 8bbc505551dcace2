// How long statements send writes again that the data service refuses for the moment. A bucket without memory or disk space refuses all of
// them, maybe for hours: statements that wait for it would take the places of statements on other buckets.

/** How long a bucket may refuse all writes before further ones fail at once. */
const refusingMs = 5_000;

/** The refusals of one bucket. */
export class BucketRefusals {
  private sinceMs = -Infinity;
  private lastMs = -Infinity;

  /** Call after a refusal. Returns the time until which the write is sent again. */
  untilMs(nowMs: number): number {
    // Without a write for so long nobody knows what the bucket would have answered.
    if (nowMs - this.lastMs > refusingMs) this.sinceMs = nowMs;
    this.lastMs = nowMs;
    return this.sinceMs + refusingMs;
  }

  /** Call after a write that was made. */
  end(): void {
    this.lastMs = -Infinity;
  }
}
