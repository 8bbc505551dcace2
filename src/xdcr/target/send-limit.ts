// A limit of bytes per second, by a token bucket.
import type { Clock } from '#ports/clock.ts';

/** Requests may be sent this much earlier than the rate allows. */
const burstMs = 100;

export class SendLimit {
  private readonly clock: Clock;
  private readonly bytesPerMs: number;
  /** When the rate has paid for all bytes sent so far. */
  private paidAtMs = 0;

  /** 0: no limit. */
  constructor(bytesPerSecond: number, clock: Clock) {
    this.bytesPerMs = bytesPerSecond / 1000;
    this.clock = clock;
  }

  /** How long to wait before the next send; 0: send now. */
  get waitMs(): number {
    if (this.bytesPerMs === 0) return 0;
    return Math.max(0, this.paidAtMs - burstMs - this.clock.monotonicMs());
  }

  sent(bytes: number): void {
    if (this.bytesPerMs === 0) return;
    this.paidAtMs = Math.max(this.paidAtMs, this.clock.monotonicMs()) + bytes / this.bytesPerMs;
  }
}
