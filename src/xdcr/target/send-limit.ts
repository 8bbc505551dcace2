// A limit of bytes per second, by a token bucket.
import type { Clock } from '#ports/clock.ts';

/** It may be so far behind or ahead. */
const burstMs = 100;

export class SendLimit {
  private readonly clock: Clock;
  private readonly bytesPerMs: number;
  private freeAtMs = 0;

  /** 0: no limit. */
  constructor(bytesPerSecond: number, clock: Clock) {
    this.bytesPerMs = bytesPerSecond / 1000;
    this.clock = clock;
  }

  /** How long to wait before the next send; 0: send now. */
  get waitMs(): number {
    if (this.bytesPerMs === 0) return 0;
    return Math.max(0, this.freeAtMs - burstMs - this.clock.monotonicMs());
  }

  sent(bytes: number): void {
    if (this.bytesPerMs === 0) return;
    this.freeAtMs = Math.max(this.freeAtMs, this.clock.monotonicMs()) + bytes / this.bytesPerMs;
  }
}
