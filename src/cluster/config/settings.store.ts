// Settings stored under a name, with defaults for values never set.
import { type ConfigStore, update } from '#replog/config-store.ts';
import { settingsPrefix } from './cluster-state.ts';

export class SettingsStore {
  readonly #store: ConfigStore;

  constructor(store: ConfigStore) {
    this.#store = store;
  }

  async read<T extends object>(name: string, defaults: T): Promise<T> {
    return { ...defaults, ...(await this.#store.get<Partial<T>>(settingsPrefix + name))?.value };
  }

  async change<T extends object>(name: string, defaults: T, changes: Partial<T>): Promise<T> {
    const { value } = await update<Partial<T>>(this.#store, settingsPrefix + name, {}, (before) => ({
      ...before,
      ...changes,
    }));
    return { ...defaults, ...value };
  }

  /** Writes the result of `change` on the newest values; resolves with their revision. `change` may throw; then nothing is written. */
  async replace<T extends object>(name: string, defaults: T, change: (before: T) => T): Promise<number> {
    const { revision } = await update<Partial<T>>(this.#store, settingsPrefix + name, {}, (before) =>
      change({ ...defaults, ...before }),
    );
    return revision;
  }
}
