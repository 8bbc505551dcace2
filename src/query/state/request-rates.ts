// Requests per second over 1, 5 and 15 minutes: exponentially weighted moving averages of intervals of 5 seconds, like load averages.
// Computed at each count and each read, without a timer.

const intervalMs = 5_000;
const minutes = [1, 5, 15] as const;
type Minutes = (typeof minutes)[number];

/** The share of an average that an interval without requests leaves. */
const decayOf = (each: Minutes): number => Math.exp(-intervalMs / (each * 60_000));

export class RequestRates {
  private intervalEndMs: number;
  private count = 0;
  private isFirst = true;
  private readonly averages: Record<Minutes, number> = { 1: 0, 5: 0, 15: 0 };

  /** Times come from a monotonic clock. */
  constructor(nowMs: number) {
    this.intervalEndMs = nowMs + intervalMs;
  }

  add(nowMs: number): void {
    if (nowMs >= this.intervalEndMs) this.endIntervals(nowMs);
    this.count++;
  }

  perSecond(over: Minutes, nowMs: number): number {
    if (nowMs >= this.intervalEndMs) this.endIntervals(nowMs);
    return this.averages[over];
  }

  private endIntervals(nowMs: number): void {
    const ended = 1 + Math.floor((nowMs - this.intervalEndMs) / intervalMs);
    const rate = (this.count * 1_000) / intervalMs;
    for (const each of minutes) {
      const decay = decayOf(each);
      const before = this.averages[each];
      // The first interval is the whole average: it would otherwise take minutes to rise to the rate.
      const after = this.isFirst ? rate : rate + (before - rate) * decay;
      this.averages[each] = after * decay ** (ended - 1);
    }
    this.isFirst = false;
    this.count = 0;
    this.intervalEndMs += ended * intervalMs;
  }
}
