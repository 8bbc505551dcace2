// Long statements are parsed and planned one at a time, since planning one keeps the thread for up to tenths of a second. After each, other requests
// have the thread for as long as it took.
import { deferred } from '#base/deferred.ts';
import type { Clock } from '#ports/clock.ts';
import { untilAborted } from '#ports/within.ts';

/** Shorter statements are planned in a few milliseconds. */
export const longFrom = 32 << 10;

export class LongStatements {
  private readonly clock: Clock;
  private last: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Calls `plan` in its turn; rejects with the signal's reason if it is aborted before. */
  async inTurn<T>(signal: AbortSignal, plan: () => T): Promise<T> {
    const turn = this.last;
    const ended = deferred<void>();
    this.last = turn.then(() => ended.promise);
    let tookMs = 0;
    try {
      await untilAborted(signal, turn, () => {});
      signal.throwIfAborted();
      const startedMs = this.clock.monotonicMs();
      try {
        return plan();
      } finally {
        tookMs = this.clock.monotonicMs() - startedMs;
      }
    } finally {
      if (tookMs === 0) ended.resolve();
      else this.clock.after(Math.ceil(tookMs), () => ended.resolve());
    }
  }
}
