// Limits the requests of each access token with the token-bucket algorithm, in the memory of each API server.
import type { Clock } from '#ports/clock.ts';
import { ApiError } from '../answers/api-error.ts';

const bucketsMax = 10_000;
const burstSeconds = 5;

export class RateLimit {
  private readonly perSecond: number;
  private readonly clock: Clock;
  /** By token id: how many requests were left after its last request, and when that was. */
  private readonly buckets = new Map<string, { left: number; atMs: number }>();

  constructor(perSecond: number, clock: Clock) {
    this.perSecond = perSecond;
    this.clock = clock;
  }

  /** Takes one request, or throws 429 with the seconds to wait. */
  admit(tokenId: string): void {
    const nowMs = this.clock.monotonicMs();
    const burst = this.perSecond * burstSeconds;
    const { left, atMs } = this.buckets.get(tokenId) ?? { left: burst, atMs: nowMs };
    const refilled = Math.min(burst, left + ((nowMs - atMs) / 1000) * this.perSecond);
    if (refilled < 1) {
      const seconds = Math.ceil((1 - refilled) / this.perSecond);
      throw new ApiError(
        'TooManyRequests',
        `this token may send ${this.perSecond} requests a second; wait ${seconds} s`,
        {
          'retry-after': String(seconds),
        },
      );
    }
    this.store(tokenId, { left: refilled - 1, atMs: nowMs });
  }

  /** Evicts the least recently used entry, which has normally refilled by then. */
  private store(tokenId: string, bucket: { left: number; atMs: number }): void {
    this.buckets.delete(tokenId);
    this.buckets.set(tokenId, bucket);
    if (this.buckets.size > bucketsMax) this.buckets.delete(this.buckets.keys().next().value as string);
  }
}
