// Limits concurrent password hashing. Sources that guess passwords wait in a second queue and get one of the two places, so that
// they do not delay others.
import { generalRefusals } from '#contract/general.refusals.ts';

/** Each hash takes a thread and 16 MiB. */
const runningMax = 2;
const suspectRunningMax = 1;
const queuedMax = 500;

interface Waiting {
  readonly isSuspect: boolean;
  start(): void;
}

export class HashingQueue {
  #running = 0;
  #suspectRunning = 0;
  readonly #others: Waiting[] = [];
  readonly #suspects: Waiting[] = [];

  async run<T>(suspect: boolean, work: () => Promise<T>): Promise<T> {
    await this.#enter(suspect);
    try {
      return await work();
    } finally {
      this.#running--;
      if (suspect) this.#suspectRunning--;
      this.#startNext();
    }
  }

  #enter(isSuspect: boolean): Promise<void> {
    const queue = isSuspect ? this.#suspects : this.#others;
    if (queue.length >= queuedMax) throw generalRefusals.busyHashing();
    return new Promise((start) => {
      queue.push({ isSuspect, start });
      this.#startNext();
    });
  }

  #startNext(): void {
    if (this.#running >= runningMax) return;
    const next =
      this.#others.shift() ?? (this.#suspectRunning < suspectRunningMax ? this.#suspects.shift() : undefined);
    if (!next) return;
    this.#running++;
    if (next.isSuspect) this.#suspectRunning++;
    next.start();
  }
}
