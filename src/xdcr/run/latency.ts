// How long documents wait from their change until the target has acknowledged them: an exponentially weighted mean of samples.
import type { Clock } from '#ports/clock.ts';

/** One in this number of changes is measured. */
const sampleEvery = 16;
/** The share of the newest sample in the mean. */
const weight = 1 / 8;

export class SampledLatency {
  private readonly clock: Clock;
  private count = 0;
  private meanMs = 0;
  /** When the first sample since the last acknowledgement began; null: none began since. */
  private waitingSinceMs: number | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Begins the measurement of a change; null: it is not sampled. */
  begin(): number | null {
    if (this.count++ % sampleEvery !== 0) return null;
    const nowMs = this.clock.monotonicMs();
    this.waitingSinceMs ??= nowMs;
    return nowMs;
  }

  end(beganMs: number): void {
    this.meanMs += weight * (this.clock.monotonicMs() - beganMs - this.meanMs);
    this.waitingSinceMs = null;
  }

  /** Whether the mean latency, or the wait for the next acknowledgement, is above the limit. */
  exceeds(limitMs: number): boolean {
    if (this.meanMs > limitMs) return true;
    return this.waitingSinceMs !== null && this.clock.monotonicMs() - this.waitingSinceMs > limitMs;
  }
}
