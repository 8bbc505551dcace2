// The limits of one request over all its items: samples read, values computed, work in windows, bytes of the answer. The
// computation yields to other requests, and stops when the client has disconnected.
import { type Clock, pausesOf } from '#ports/clock.ts';

/** Limits of one request. The values of a large dashboard for a day are about a tenth of them. */
export const rangeLimits = {
  samples: 20_000_000,
  values: 1_000_000,
  windowSamples: 100_000_000,
  answerBytes: 32 * 1024 * 1024,
};

type Cost = keyof typeof rangeLimits;

const costTexts: Record<Cost, string> = {
  samples: 'samples read',
  values: 'values',
  windowSamples: 'samples in all windows',
  answerBytes: 'bytes of the answer',
};

/** How long the thread computes before it yields. */
const sliceMs = 5;

/** The query was refused; the message says why. */
export class RefusedQueryError extends Error {
  override name = 'RefusedQueryError';
}

export class RangeBudget {
  readonly #signal: AbortSignal;
  readonly #limits: Readonly<Record<Cost, number>>;
  readonly #spent: Record<Cost, number> = { samples: 0, values: 0, windowSamples: 0, answerBytes: 0 };
  readonly #pause: () => Promise<boolean>;

  constructor({
    clock,
    signal,
    limits = rangeLimits,
  }: {
    clock: Clock;
    signal: AbortSignal;
    limits?: Readonly<Record<Cost, number>>;
  }) {
    this.#signal = signal;
    this.#limits = limits;
    this.#pause = pausesOf(clock, sliceMs);
  }

  /** Refuses the query that exceeds a limit, and every later one of the same request. */
  spend(cost: Cost, amount: number): void {
    this.#spent[cost] += amount;
    this.check();
  }

  /** Refuses a query once a limit of the request is exceeded. */
  check(): void {
    for (const cost of Object.keys(this.#spent) as Cost[]) {
      if (this.#spent[cost] <= this.#limits[cost]) continue;
      const advice = 'ask for fewer series, a larger step or a shorter interval';
      throw new RefusedQueryError(
        `more than ${this.#limits[cost]} ${costTexts[cost]} over all queries of the request: ${advice}`,
      );
    }
  }

  /** Yields to other requests when the time slice is used up; throws once the client has disconnected. */
  async yieldIfDue(): Promise<void> {
    if (await this.#pause()) this.#signal.throwIfAborted();
  }

  /** Runs a generator, such as `evaluateInSlices`, whose values are the numbers of samples that windows had since the value before. */
  async run<T>(slices: Generator<number, T>): Promise<T> {
    for (;;) {
      const { done, value } = slices.next();
      if (done) return value as T;
      this.spend('windowSamples', value as number);
      await this.yieldIfDue();
    }
  }
}
