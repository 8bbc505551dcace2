// A histogram of latencies. Each power of two is divided into 16 classes, and a percentile is the upper end of its class, which is 4.4 % above
// the lower end: a percentile is at most 5 % too high.

const classesPerPower = 16;
const classCount = 32 * classesPerPower;

export class Latencies {
  count = 0;
  maxMs = 0;
  private readonly counts = new Float64Array(classCount);

  add(milliseconds: number): void {
    const micros = Math.max(1, milliseconds * 1_000);
    const index = Math.min(classCount - 1, Math.floor(Math.log2(micros) * classesPerPower));
    this.counts[index] = (this.counts[index] as number) + 1;
    this.count++;
    this.maxMs = Math.max(this.maxMs, milliseconds);
  }

  /** The latency that this share of all operations did not exceed; 0 without operations. */
  percentile(share: number): number {
    let left = this.count * share;
    for (const [index, count] of this.counts.entries()) {
      left -= count;
      if (count > 0 && left <= 0) return Math.min(this.maxMs, 2 ** ((index + 1) / classesPerPower) / 1_000);
    }
    return this.maxMs;
  }

  clear(): void {
    this.count = 0;
    this.maxMs = 0;
    this.counts.fill(0);
  }
}
