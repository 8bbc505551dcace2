// A clock for simulations: time does not pass until a test runs it, and everything that waits, `soon` too, is called in one fixed
// order: by time, then by the order of the requests. Between two calls all promises that can continue do so. A simulation
// that has no other source of events than this clock and a seeded randomness repeats exactly.
import type { Clock, Timer } from '#ports/clock.ts';

interface Waiting {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export class SimulatedClock implements Clock {
  #nowMs = 0;
  #wallAheadMs: number;
  #order = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(wallMs = 1_700_000_000_000) {
    this.#wallAheadMs = wallMs;
  }

  wallMs(): number {
    return this.#nowMs + this.#wallAheadMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const waiting = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#waiting.add(waiting);
    return { cancel: () => void this.#waiting.delete(waiting) };
  }

  soon(callback: () => void): void {
    this.after(0, callback);
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

  /** The time of day jumps; timers and the monotonic time are not affected. */
  jumpWall(byMs: number): void {
    this.#wallAheadMs += byMs;
  }

  /** Runs for this number of milliseconds of simulated time. */
  async run(forMs: number): Promise<void> {
    const untilMs = this.#nowMs + forMs;
    for (;;) {
      await promisesRan();
      const next = this.#next();
      if (next === null || next.atMs > untilMs) break;
      this.#call(next);
    }
    this.#nowMs = untilMs;
  }

  /** Runs until the promise is resolved or rejected; throws once nothing waits any more, or after an hour of simulated time. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    promise.then(over, over);
    const untilMs = this.#nowMs + 3_600_000;
    for (;;) {
      await promisesRan();
      if (isOver) return promise;
      const next = this.#next();
      if (next === null || next.atMs > untilMs)
        throw new Error('nothing is due in the next hour of simulated time: the simulation cannot continue');
      this.#call(next);
    }
  }

  #call(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    this.#nowMs = waiting.atMs;
    waiting.callback();
  }

  #next(): Waiting | null {
    let next: Waiting | null = null;
    for (const timer of this.#waiting) if (next === null || isBefore(timer, next)) next = timer;
    return next;
  }
}

const isBefore = (a: Waiting, b: Waiting): boolean =>
  a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/** A turn of the event loop begins once no promise can continue. */
const promisesRan = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
