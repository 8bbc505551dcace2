// A configuration store whose implementation can be replaced while the node runs: a member that becomes the founder uses the store on its own
// disk from then on, and the earlier founder uses the store of the new founder. A change that the earlier store refused because it had ended is made in
// the new one. Watchers get the values of the new store, and null for keys that it lacks.
import { UnavailableError } from '#base/unavailable-error.ts';
import { realClock } from '#ports/clock.ts';
import { type Log, silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { within } from '#ports/within.ts';
import type { ChangeOptions, ConfigStore, Entry } from './config-store.ts';
import { StoreEndedError } from './mirror/store-end.ts';

/** Longer than an orderly change of the founder takes. */
const heldMs = 10_000;
/** The pause before a watch of a new store that failed is tried again. */
const againMs = 1_000;

interface Watcher {
  readonly prefix: string;
  readonly changed: (key: string, entry: Entry | null) => void;
  /** The keys that the watcher was called with and that were not deleted. */
  readonly keys: Set<string>;
  /** The keys that its newest watch has reported: the other keys are of earlier stores. */
  reported: Set<string>;
  watch: { stop(): void } | null;
  /** Resolves when the newest watch of the watcher has begun. */
  begun: Promise<void>;
}

export class SwitchingConfigStore implements ConfigStore {
  readonly #log: Log;
  #current: ConfigStore;
  readonly #watchers = new Set<Watcher>();
  /** Changes wait until it is resolved; null: they are made at once. */
  #held: PromiseWithResolvers<void> | null = null;

  constructor(first: ConfigStore, log = silentLog) {
    this.#log = log;
    this.#current = first;
  }

  /** Makes no change until `release`; those that are requested wait, for a limited time. */
  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = null;
  }

  untilReleased(): Promise<void> | null {
    if (this.#held === null) return null;
    const heldTooLong = (): Error =>
      new UnavailableError('Nothing was changed: another node is taking the configuration over.', {
        isUnchanged: true,
      });
    return within(this.ports.clock, heldMs, this.#held.promise, heldTooLong);
  }

  /** Makes the last change of a store whose other changes are held: its readers learn from it where the configuration has moved. */
  putWhileHeld<T>(key: string, value: T, expectedRevision: number): Promise<number | null> {
    return this.#current.put(key, value, expectedRevision);
  }

  /** Uses this store from now on and closes the one before. A watch that fails is tried again. */
  async switchTo(next: ConfigStore): Promise<void> {
    const before = this.#current;
    this.#current = next;
    for (const watcher of [...this.#watchers]) {
      if (!this.#watchers.has(watcher)) continue; // stopped meanwhile
      const first = this.#follow(watcher);
      watcher.begun = first.catch((error: Error) => this.#followLater(watcher, error));
      await first.catch(() => {});
    }
    await before[Symbol.asyncDispose]();
  }

  /** Begins to watch the present store, and reports the keys of earlier stores that it lacks. */
  async #follow(watcher: Watcher): Promise<void> {
    const reported = await this.#watch(watcher);
    for (const key of [...watcher.keys]) {
      if (!this.#isCurrent(watcher, reported)) return;
      if (reported.has(key)) continue;
      watcher.keys.delete(key);
      watcher.changed(key, null);
    }
  }

  /** Tries again after an error until the watcher follows the present store. */
  async #followLater(watcher: Watcher, { message }: Error): Promise<void> {
    this.#log.warn('configuration.not_watched', { keys: `${watcher.prefix}*`, reason: message });
    const store = this.#current;
    const isNeeded = (): boolean => this.#current === store && this.#watchers.has(watcher);
    for (;;) {
      await this.ports.clock.sleep(againMs);
      if (!isNeeded()) return;
      try {
        return await this.#follow(watcher);
      } catch {
        // The next attempt may succeed.
      }
    }
  }

  get ports(): NonNullable<ConfigStore['ports']> {
    return this.#current.ports ?? { clock: realClock, random: realRandom };
  }

  get problem(): string | null {
    return this.#current.problem ?? null;
  }

  get<T>(key: string): Promise<Entry<T> | null> {
    return this.#current.get(key);
  }

  list<T>(prefix: string): Promise<Entry<T>[]> {
    return this.#current.list(prefix);
  }

  put<T>(key: string, value: T, expectedRevision: number, options?: ChangeOptions): Promise<number | null> {
    // Nothing is awaited unless changes are held: a store that is served must write before this returns.
    const again = (): Promise<number | null> => this.put(key, value, expectedRevision, options);
    const held = this.untilReleased();
    if (held !== null) return held.then(again);
    return this.#unlessEnded(this.#current.put(key, value, expectedRevision, options), again);
  }

  delete(key: string, expectedRevision: number): Promise<boolean> {
    const again = (): Promise<boolean> => this.delete(key, expectedRevision);
    const held = this.untilReleased();
    if (held !== null) return held.then(again);
    return this.#unlessEnded(this.#current.delete(key, expectedRevision), again);
  }

  async watch(prefix: string, changed: Watcher['changed']): Promise<{ stop(): void }> {
    const watcher: Watcher = {
      prefix,
      changed,
      keys: new Set(),
      reported: new Set(),
      watch: null,
      begun: Promise.resolve(),
    };
    this.#watchers.add(watcher);
    watcher.begun = this.#follow(watcher);
    await this.#begun(watcher);
    return {
      stop: () => {
        this.#watchers.delete(watcher);
        watcher.watch?.stop();
      },
    };
  }

  revision(): number {
    return this.#current.revision();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watchers.clear();
    await this.#current[Symbol.asyncDispose]();
  }

  /** Resolves as the change does; if the store has ended, waits for the store that replaces it and makes the change there. */
  async #unlessEnded<Outcome>(change: Promise<Outcome>, again: () => Promise<Outcome>): Promise<Outcome> {
    const store = this.#current;
    try {
      return await change;
    } catch (error) {
      if (!(error instanceof StoreEndedError)) throw error;
      if (this.#current === store) this.hold();
      await this.untilReleased();
      return again();
    }
  }

  /** Resolves when the watcher has the values of its store: of the next one, if that replaces the store before the watch has begun. */
  async #begun(watcher: Watcher): Promise<void> {
    const { begun } = watcher;
    try {
      await begun;
    } catch (error) {
      if (begun === watcher.begun) {
        this.#watchers.delete(watcher);
        throw error;
      }
    }
    if (begun !== watcher.begun) await this.#begun(watcher);
  }

  /** Resolves with the keys that the watch has reported, which it keeps up to date. */
  async #watch(watcher: Watcher): Promise<ReadonlySet<string>> {
    watcher.watch?.stop();
    watcher.watch = null;
    const reported = new Set<string>();
    watcher.reported = reported;
    const watch = await this.#current.watch(watcher.prefix, (key, entry) => {
      if (!this.#isCurrent(watcher, reported)) return;
      for (const keys of [watcher.keys, reported]) {
        if (entry === null) keys.delete(key);
        else keys.add(key);
      }
      watcher.changed(key, entry);
    });
    if (this.#isCurrent(watcher, reported)) watcher.watch = watch;
    else watch.stop();
    return reported;
  }

  /** False: the watch was stopped, or is that of a store that was replaced before it had begun. */
  #isCurrent(watcher: Watcher, reported: ReadonlySet<string>): boolean {
    return watcher.reported === reported && this.#watchers.has(watcher);
  }
}
