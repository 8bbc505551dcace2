// The setting whether statistics may be shared: stored and read back, since the node never sends any.
import type { Form } from '#contract/route.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { FormReader } from '../forms/form-reader.ts';

const statsDefaults = { sendStats: false };

export class StatsSettings {
  readonly #store: SettingsStore;

  constructor(store: SettingsStore) {
    this.#store = store;
  }

  read(): Promise<{ sendStats: boolean }> {
    return this.#store.read('stats', statsDefaults);
  }

  async change(changes: { sendStats: boolean }): Promise<void> {
    await this.#store.change('stats', statsDefaults, changes);
  }

  readForm(form: Form): { sendStats: boolean } {
    const reader = new FormReader(form);
    reader.only(['sendStats']);
    reader.required('sendStats');
    const sendStats = reader.boolean('sendStats') ?? false;
    reader.refuseIfInvalid();
    return { sendStats };
  }
}
