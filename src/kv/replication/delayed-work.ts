// Delays work that no client waits for by a short time and then does all of it together, so that busy nodes exchange few large writes
// instead of many small ones.
import type { Clock } from '#ports/clock.ts';

/**
 * How long work is delayed: far below the two seconds of changes that a copy may lack. `busy` applies while many vbuckets change: a batch
 * then has more changes, and most of the cost of a copy is that of its batches.
 */
export const delayMs = { quiet: 2, busy: 8 } as const;
/** Pieces of work in a millisecond from which on the next delay is the busy one. */
export const busyPerMs = 4;
/** The most pieces of work in one turn of the event loop. Two thousand would hold the thread for up to ten milliseconds. */
export const perTurn = 64;

export class DelayedWork {
  private readonly clock: Clock;
  private waiting: (() => void)[] = [];
  private isBusy = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  add(callback: () => void): void {
    if (this.waiting.push(callback) > 1) return;
    const ms = this.isBusy ? delayMs.busy : delayMs.quiet;
    this.clock.after(ms, () => this.run(ms));
  }

  private run(ms: number): void {
    const due = this.waiting;
    this.waiting = [];
    this.isBusy = due.length >= busyPerMs * ms;
    this.runFrom(due, 0);
  }

  private runFrom(due: readonly (() => void)[], from: number): void {
    const to = from + perTurn;
    for (const callback of due.slice(from, to)) callback();
    if (to < due.length) this.clock.soon(() => this.runFrom(due, to));
  }
}
