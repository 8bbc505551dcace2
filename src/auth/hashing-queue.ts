// Limits concurrent password hashing. Sources that guess passwords wait in a second queue and get one of the two places, so that
// they do not delay others.
import { generalRefusals } from '#contract/general.refusals.ts';

/** Each hash takes a thread and 16 MiB. */
const maximumRunning = 2;
const maximumSuspectRunning = 1;
const maximumQueued = 500;

interface Waiting {
  readonly suspect: boolean;
  start(): void;
}

export class HashingQueue {
  #running = 0;
  #suspectRunning = 0;
  readonly #clean: Waiting[] = [];
  readonly #suspect: Waiting[] = [];

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
    const queue = suspect ? this.#suspect : this.#clean;
    if (queue.length >= maximumQueued) throw generalRefusals.busyHashing();
    return new Promise((start) => {
      queue.push({ suspect, start });
      this.#startNext();
    });
  }

  #startNext(): void {
    if (this.#running >= maximumRunning) return;
    const next =
      this.#clean.shift() ??
      (this.#suspectRunning < maximumSuspectRunning ? this.#suspect.shift() : undefined);
    if (!next) return;
    this.#running++;
    if (next.suspect) this.#suspectRunning++;
    next.start();
  }
}
