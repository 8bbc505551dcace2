// A histogram of durations by powers of two of a microsecond: cheap to update, precise enough for profiling.

const bucketCount = 32;
/** The powers that `figures` reports: 16 µs to 16.8 s. */
const shownPowers = [4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24];

/** In seconds. */
export const durationBounds: readonly number[] = shownPowers.map((power) => 2 ** power / 1e6);

export class DurationHistogram {
  private readonly counts = new Float64Array(bucketCount);
  private totalMs = 0;

  add(milliseconds: number): void {
    const micros = Math.min(Math.max(milliseconds * 1000, 0), 2 ** 31 - 1);
    (this.counts[bucketCount - Math.clz32(micros)] as number) += 1;
    this.totalMs += Math.max(milliseconds, 0);
  }

  /** The non-empty ranges in microseconds; `to` is exclusive. */
  *ranges(): Iterable<{ from: number; to: number; count: number }> {
    for (const [power, count] of this.counts.entries()) {
      if (count > 0) yield { from: power === 0 ? 0 : 2 ** (power - 1), to: 2 ** power, count };
    }
  }

  /** Cumulative counts below each of `durationBounds`, then the total; the sum in seconds. */
  figures(): { counts: number[]; sum: number } {
    const upTo = (power: number) => this.counts.subarray(0, power + 1).reduce((sum, count) => sum + count, 0);
    return { counts: [...shownPowers, bucketCount].map(upTo), sum: this.totalMs / 1000 };
  }
}
