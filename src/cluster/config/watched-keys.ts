// Keys of the configuration that a service follows: the service takes each change, then the listeners are called.
import type { ConfigStore, Entry } from '#replog/config-store.ts';
import type { ChangeNotifier } from './until.ts';

export class WatchedKeys implements ChangeNotifier {
  readonly #store: ConfigStore;
  readonly #prefix: string;
  readonly #listener: (key: string, entry: Entry | null) => void;
  readonly #listeners = new Set<() => void>();
  #watch: { stop(): void } | null = null;
  #revision = 0;

  /** `listener` gets `null` for a key that was deleted. */
  constructor(store: ConfigStore, prefix: string, listener: (key: string, entry: Entry | null) => void) {
    this.#store = store;
    this.#prefix = prefix;
    this.#listener = listener;
  }

  /** Resolves when all present keys were taken. */
  async start(): Promise<void> {
    this.#watch = await this.#store.watch(this.#prefix, (key, entry) => {
      this.#listener(key, entry);
      this.#revision = Math.max(this.#revision, entry?.revision ?? 0);
      for (const listener of [...this.#listeners]) listener();
    });
  }

  stop(): void {
    this.#watch?.stop();
    this.#listeners.clear();
  }

  /** The newest revision of a key that was taken. */
  get revision(): number {
    return this.#revision;
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }
}
