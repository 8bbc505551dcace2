// A histogram of request times since the start: 8 buckets per power of two, from a microsecond on.

const bucketCount = 256;
const shortestMs = 0.001;
const bucketsPerDoubling = 8;

export class RequestTimes {
  count = 0;
  private totalMs = 0;
  private readonly counts = new Float64Array(bucketCount);

  add(ms: number): void {
    const index = Math.ceil(Math.log2(Math.max(ms, shortestMs) / shortestMs) * bucketsPerDoubling);
    const bucket = Math.min(bucketCount - 1, index);
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.count++;
    this.totalMs += ms;
  }

  get meanMs(): number {
    return this.count === 0 ? 0 : this.totalMs / this.count;
  }

  /** The time that the fraction `share` of all requests did not exceed. */
  quantileMs(share: number): number {
    let remaining = this.count * share;
    if (remaining === 0) return 0;
    for (const [bucket, count] of this.counts.entries()) {
      remaining -= count;
      if (remaining <= 0) return shortestMs * 2 ** (bucket / bucketsPerDoubling);
    }
    return 0;
  }
}
