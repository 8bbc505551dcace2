// A clock that a test advances.
import type { Clock, Timer } from '#ports/clock.ts';

export class ManualClock implements Clock {
  #nowMs: number;
  #wallAheadMs = 0;
  #timers = new Set<{ atMs: number; callback: () => void }>();

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  wallMs(): number {
    return this.#nowMs + this.#wallAheadMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  soon(callback: () => void): void {
    setImmediate(callback);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = (): void => {
        timer.cancel();
        reject(signal?.reason as Error);
      };
      const timer = this.after(delayMs, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Sets how far the wall clock is ahead of the monotonic one; timers and the monotonic time do not change. */
  setWall(aheadMs: number): void {
    this.#wallAheadMs = aheadMs;
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Advances the time and fires the timers that are due, in order. */
  advance(ms: number): void {
    const until = this.#nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.atMs <= until).sort((a, b) => a.atMs - b.atMs)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#nowMs = due.atMs;
      due.callback();
    }
    this.#nowMs = until;
  }
}
