// One node's access to a configuration store that several nodes share, with the faults of a distributed engine, from a seed: slow
// answers, lost requests and answers, writes that take effect after they were reported as failed, stale reads, outages. It throws
// where the outcome of a change is unknown, as an engine does.
import { UnavailableError } from '#base/unavailable-error.ts';
import type { Random as RandomPort } from '#ports/random.ts';
import type { ConfigStore, Entry } from '#replog/config-store.ts';
import type { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { type Random, randomBytes } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';

interface StoreFaults {
  /** The longest delay in each direction. */
  delayMaxMs: number;
  /** Percentage of changes that do not reach the store. */
  lostRequestPercent: number;
  /** Percentage of changes that are made without an answer. */
  lostAnswerPercent: number;
  /** Percentage of changes that are reported as failed and reach the store up to ten seconds later. */
  latePercent: number;
  /** Percentage of reads that return an older value of the key. */
  stalePercent: number;
}

export const noStoreFaults: StoreFaults = {
  delayMaxMs: 2,
  lostRequestPercent: 0,
  lostAnswerPercent: 0,
  latePercent: 0,
  stalePercent: 0,
};

const lateMaxMs = 10_000;

/** All values of each key, which stale reads may return. */
export class StoreHistory {
  readonly #values = new Map<string, (Entry | null)[]>();

  static async recording(server: MemoryConfigStore): Promise<StoreHistory> {
    const history = new StoreHistory();
    await server.watch('', (key, entry) => {
      const values = history.#values.get(key) ?? [null];
      history.#values.set(key, [...values, entry]);
    });
    return history;
  }

  /** A random value of those that the key has had. */
  randomEntry<T>(key: string, random: Random): Entry<T> | null {
    const values = this.#values.get(key) ?? [null];
    return structuredClone(values[random(values.length)] ?? null) as Entry<T> | null;
  }
}

export class FaultyConfigStore implements ConfigStore {
  readonly #server: MemoryConfigStore;
  readonly #history: StoreHistory;
  readonly #clock: SimulatedClock;
  readonly #random: Random;
  readonly ports: { clock: SimulatedClock; random: RandomPort };
  faults = noStoreFaults;
  /** Nothing reaches the store. */
  isDown = false;

  constructor(options: {
    server: MemoryConfigStore;
    history: StoreHistory;
    clock: SimulatedClock;
    random: Random;
  }) {
    this.#server = options.server;
    this.#history = options.history;
    this.#clock = options.clock;
    this.#random = options.random;
    this.ports = { clock: options.clock, random: portOf(options.random) };
  }

  get problem(): string | null {
    return this.isDown ? 'the store cannot be reached' : null;
  }

  async get<T>(key: string): Promise<Entry<T> | null> {
    await this.#transmit();
    const isStale = this.#happens(this.faults.stalePercent);
    const entry = isStale ? this.#history.randomEntry<T>(key, this.#random) : await this.#server.get<T>(key);
    await this.#transmit();
    return entry;
  }

  async list<T>(prefix: string): Promise<Entry<T>[]> {
    await this.#transmit();
    const entries = await this.#server.list<T>(prefix);
    await this.#transmit();
    return entries;
  }

  put<T>(key: string, value: T, expectedRevision: number): Promise<number | null> {
    return this.#change(() => this.#server.put(key, value, expectedRevision));
  }

  delete(key: string, expectedRevision: number): Promise<boolean> {
    return this.#change(() => this.#server.delete(key, expectedRevision));
  }

  /** Changes arrive late, each watcher's in order. */
  async watch(prefix: string, changed: (key: string, entry: Entry | null) => void) {
    let lastMs = 0;
    let isStopped = false;
    const watch = await this.#server.watch(prefix, (key, entry) => {
      lastMs = Math.max(lastMs, this.#clock.monotonicMs() + this.#random(this.faults.delayMaxMs + 1));
      this.#clock.after(lastMs - this.#clock.monotonicMs(), () => {
        if (!isStopped) changed(key, entry);
      });
    });
    return {
      stop() {
        isStopped = true;
        watch.stop();
      },
    };
  }

  revision(): number {
    return this.#server.revision();
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #change<R>(change: () => Promise<R>): Promise<R> {
    const { lostRequestPercent, lostAnswerPercent, latePercent } = this.faults;
    await this.#transmit();
    if (this.#happens(lostRequestPercent)) throw unknownOutcome();
    if (this.#happens(latePercent)) {
      this.#clock.after(this.#random(lateMaxMs), () => void change());
      throw unknownOutcome();
    }
    const outcome = await change();
    if (this.#happens(lostAnswerPercent)) throw unknownOutcome();
    await this.#clock.sleep(this.#random(this.faults.delayMaxMs + 1));
    return outcome;
  }

  /** Waits for as long as a request or an answer takes between the node and the store. */
  async #transmit(): Promise<void> {
    await this.#clock.sleep(this.#random(this.faults.delayMaxMs + 1));
    if (this.isDown) throw new UnavailableError(unreachable, { isUnchanged: true });
  }

  #happens(percent: number): boolean {
    return this.#random(100) < percent;
  }
}

const unreachable = 'Nothing was changed: the store cannot be reached.';

const unknownOutcome = (): UnavailableError =>
  new UnavailableError('The change may be lost: no answer from the store.');

/** The port's form of a seeded source. */
export const portOf = (random: Random): RandomPort => ({
  bytes: (count) => randomBytes(random, count),
  uuid: () => randomBytes(random, 16).toString('hex'),
});
