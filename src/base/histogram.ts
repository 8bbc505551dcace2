// Counts durations by powers of two of a microsecond: cheap to add to, good enough to see where time goes.

const bucketCount = 32;

export class Histogram {
  private readonly counts = new Float64Array(bucketCount);

  add(milliseconds: number): void {
    const micros = Math.min(Math.max(milliseconds * 1000, 0), 2 ** 31 - 1);
    (this.counts[bucketCount - Math.clz32(micros)] as number) += 1;
  }

  /** Ranges of microseconds that something was counted in, the upper bound left out. */
  *ranges(): Iterable<{ from: number; to: number; count: number }> {
    for (const [power, count] of this.counts.entries()) {
      if (count > 0) yield { from: power === 0 ? 0 : 2 ** (power - 1), to: 2 ** power, count };
    }
  }
}
