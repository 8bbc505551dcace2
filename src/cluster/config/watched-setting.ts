// One setting of the cluster in memory: for components that use it at every request and react to its changes.
import { assert } from '#base/assert.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import type { ChangeNotifier } from './until.ts';
import { WatchedKeys } from './watched-keys.ts';

export class WatchedSetting<T extends object> implements ChangeNotifier {
  readonly #store: ConfigStore;
  readonly #key: string;
  readonly #defaults: T;
  readonly #keys: WatchedKeys;
  #value: T | null = null;

  /** Uses the key of the setting that `SettingsStore` has under this name. */
  constructor(store: ConfigStore, name: string, defaults: T) {
    this.#store = store;
    this.#key = `settings/${name}`;
    this.#defaults = defaults;
    this.#keys = new WatchedKeys(store, this.#key, (key, entry) => {
      if (key === this.#key) this.#value = { ...defaults, ...(entry?.value as Partial<T> | undefined) };
    });
  }

  start(): Promise<void> {
    this.#value = this.#defaults;
    return this.#keys.start();
  }

  stop(): void {
    this.#keys.stop();
  }

  get value(): T {
    assert(this.#value, `${this.#key} is read after its start`);
    return this.#value;
  }

  /** `next` may throw; then nothing is written. `next` runs again if another writer was first. */
  async change(next: (before: T) => T): Promise<T> {
    const { value } = await update<Partial<T>>(this.#store, this.#key, {}, (stored) =>
      next({ ...this.#defaults, ...stored }),
    );
    return { ...this.#defaults, ...value };
  }

  onChange(listener: () => void): { stop(): void } {
    return this.#keys.onChange(listener);
  }
}
