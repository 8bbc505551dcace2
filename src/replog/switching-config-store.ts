// A configuration store that another one can replace while the node runs: a member that becomes the founder has its store on its own disk
// from then on. Watchers get what the new store has, and null for keys that it lacks.
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import type { ChangeOptions, ConfigStore, Entry } from './config-store.ts';

interface Watcher {
  readonly prefix: string;
  readonly changed: (key: string, entry: Entry | null) => void;
  /** The keys that the watcher was called with and that were not deleted. */
  keys: Set<string>;
  watch: { stop(): void } | null;
}

export class SwitchingConfigStore implements ConfigStore {
  #current: ConfigStore;
  readonly #watchers = new Set<Watcher>();

  constructor(first: ConfigStore) {
    this.#current = first;
  }

  /** Uses this store from now on and closes the one before. */
  async switchTo(next: ConfigStore): Promise<void> {
    const before = this.#current;
    this.#current = next;
    for (const watcher of [...this.#watchers]) {
      const had = watcher.keys;
      await this.#watch(watcher);
      for (const key of had) if (!watcher.keys.has(key)) watcher.changed(key, null);
    }
    await before[Symbol.asyncDispose]();
  }

  get pace(): NonNullable<ConfigStore['pace']> {
    return this.#current.pace ?? { clock: realClock, random: realRandom };
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
    return this.#current.put(key, value, expectedRevision, options);
  }

  delete(key: string, expectedRevision: number): Promise<boolean> {
    return this.#current.delete(key, expectedRevision);
  }

  async watch(prefix: string, changed: Watcher['changed']): Promise<{ stop(): void }> {
    const watcher: Watcher = { prefix, changed, keys: new Set(), watch: null };
    this.#watchers.add(watcher);
    await this.#watch(watcher);
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

  async #watch(watcher: Watcher): Promise<void> {
    watcher.watch?.stop();
    const keys = new Set<string>();
    watcher.keys = keys;
    const watch = await this.#current.watch(watcher.prefix, (key, entry) => {
      if (entry === null) keys.delete(key);
      else keys.add(key);
      watcher.changed(key, entry);
    });
    if (this.#watchers.has(watcher)) watcher.watch = watch;
    else watch.stop();
  }
}
