// Timers of requests. Almost all are cancelled within a millisecond, and a timer of the event loop for each request would cost more than
// the request's other bookkeeping. So requests with the same delay share one, which stays armed for a moment after the last is cancelled.
import { LinkedList } from '#base/linked-list.ts';
import type { Clock, Timer } from './clock.ts';

/** Delays with a shared timer at a time: clients choose their timeouts. Others have a timer each. */
const delaysMax = 8;
/** A shared timer checks at least this often whether it is still needed. */
const checkEveryMs = 1_000;

interface Entry {
  readonly dueMs: number;
  readonly callback: () => void;
}

export class SharedTimers {
  private readonly clock: Clock;
  /** By delay. Entries of one delay are due in the order of their creation. */
  private readonly queues = new Map<number, LinkedList<Entry>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Calls `callback` once after `delayMs`. */
  after(delayMs: number, callback: () => void): Timer {
    const queue = this.queues.get(delayMs) ?? this.newQueue(delayMs);
    if (queue === null) return this.clock.after(delayMs, callback);
    const link = queue.add({ dueMs: this.clock.monotonicMs() + delayMs, callback });
    return { cancel: () => queue.remove(link) };
  }

  private newQueue(delayMs: number): LinkedList<Entry> | null {
    if (this.queues.size >= delaysMax) return null;
    const queue = new LinkedList<Entry>();
    this.queues.set(delayMs, queue);
    this.clock.after(Math.min(delayMs, checkEveryMs), () => this.check(delayMs, queue));
    return queue;
  }

  private check(delayMs: number, queue: LinkedList<Entry>): void {
    const nowMs = this.clock.monotonicMs();
    for (let link = queue.first; link !== null; link = queue.first) {
      const leftMs = link.value.dueMs - nowMs;
      if (leftMs > 0) {
        this.clock.after(Math.min(Math.ceil(leftMs), checkEveryMs), () => this.check(delayMs, queue));
        return;
      }
      queue.remove(link);
      link.value.callback();
    }
    this.queues.delete(delayMs);
  }
}
