// Timers of requests. Almost all are cancelled within a millisecond, and a timer of the event loop for each request would cost more than
// the request's other bookkeeping. So requests with the same delay share one, which stays armed for a moment after the last is cancelled.
import type { Clock, Timer } from './clock.ts';

/** Delays with a shared timer at a time: clients choose their timeouts. Others have a timer each. */
const delaysMax = 8;
/** A shared timer checks at least this often whether it is still needed. */
const checkMs = 1_000;

interface Entry {
  readonly dueMs: number;
  readonly fire: () => void;
}

export class SharedTimers {
  private readonly clock: Clock;
  /** By delay. Entries of one delay are due in the order of their creation. */
  private readonly queues = new Map<number, Set<Entry>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Calls `fire` once after `delayMs`. */
  after(delayMs: number, fire: () => void): Timer {
    const queue = this.queues.get(delayMs) ?? this.newQueue(delayMs);
    if (queue === null) return this.clock.after(delayMs, fire);
    const entry: Entry = { dueMs: this.clock.monotonicMs() + delayMs, fire };
    queue.add(entry);
    return { cancel: () => void queue.delete(entry) };
  }

  private newQueue(delayMs: number): Set<Entry> | null {
    if (this.queues.size >= delaysMax) return null;
    const queue = new Set<Entry>();
    this.queues.set(delayMs, queue);
    this.clock.after(Math.min(delayMs, checkMs), () => this.check(delayMs, queue));
    return queue;
  }

  private check(delayMs: number, queue: Set<Entry>): void {
    const nowMs = this.clock.monotonicMs();
    for (const entry of queue) {
      const leftMs = entry.dueMs - nowMs;
      if (leftMs > 0) {
        this.clock.after(Math.min(Math.ceil(leftMs), checkMs), () => this.check(delayMs, queue));
        return;
      }
      queue.delete(entry);
      entry.fire();
    }
    this.queues.delete(delayMs);
  }
}
