// Settings of one name each, with defaults for what was never set.
import { type ConfigStore, update } from '#replog/config-store.ts';

export class SettingsStore {
  readonly #store: ConfigStore;

  constructor(store: ConfigStore) {
    this.#store = store;
  }

  async read<T extends object>(name: string, defaults: T): Promise<T> {
    return { ...defaults, ...(await this.#store.get<Partial<T>>(`settings/${name}`))?.value };
  }

  async change<T extends object>(name: string, defaults: T, changes: Partial<T>): Promise<T> {
    const { value } = await update<Partial<T>>(this.#store, `settings/${name}`, {}, (before) => ({
      ...before,
      ...changes,
    }));
    return { ...defaults, ...value };
  }
}
