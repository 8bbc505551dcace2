// Limits concurrent password hashing. Sources that guess passwords wait in a second queue and get one of the two places, so that
// they do not delay others.
import { generalRefusals } from '#contract/general.refusals.ts';

/** Each hash takes a thread and 16 MiB. */
const runningMax = 2;
const suspectRunningMax = 1;
const queuedMax = 500;

interface Waiting {
  readonly suspect: boolean;
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

  #enter(suspect: boolean): Promise<void> {
    const queue = suspect ? this.#suspects : this.#others;
    if (queue.length >= queuedMax) throw generalRefusals.busyHashing();
    return new Promise((start) => {
      queue.push({ suspect, start });
      this.#startNext();
    });
  }

  #startNext(): void {
    if (this.#running >= runningMax) return;
    const next =
      this.#others.shift() ?? (this.#suspectRunning < suspectRunningMax ? this.#suspects.shift() : undefined);
    if (!next) return;
    this.#running++;
    if (next.suspect) this.#suspectRunning++;
    next.start();
  }
}
