// A histogram of request times since the start: 8 buckets per power of two, from a microsecond on.

const bucketCount = 256;
const leastMs = 0.001;
const bucketsPerDoubling = 8;

export class Histogram {
  count = 0;
  private totalMs = 0;
  private readonly counts = new Float64Array(bucketCount);

  add(ms: number): void {
    const index = Math.ceil(Math.log2(Math.max(ms, leastMs) / leastMs) * bucketsPerDoubling);
    const at = Math.min(bucketCount - 1, index);
    this.counts[at] = (this.counts[at] as number) + 1;
    this.count++;
    this.totalMs += ms;
  }

  get meanMs(): number {
    return this.count === 0 ? 0 : this.totalMs / this.count;
  }

  /** The quantile `share` of the times. */
  quantileMs(share: number): number {
    let left = this.count * share;
    if (left === 0) return 0;
    for (const [at, count] of this.counts.entries()) {
      left -= count;
      if (left <= 0) return leastMs * 2 ** (at / bucketsPerDoubling);
    }
    return 0;
  }
}
