// Validates, stores and reads the cluster's auto-compaction settings. The scheduler applies them.
import type { Form } from '#contract/route.ts';
import type { ClusterAutoCompaction, Edition } from '../config/cluster-state.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { Problems } from '../forms/problems.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import { readClusterSettings } from './cluster-rules.ts';
import { compactionDefaults, compactionSetting } from './settings.ts';

export class AutoCompactionService {
  readonly #store: SettingsStore;
  readonly #edition: Edition;

  constructor(store: SettingsStore, edition: Edition) {
    this.#store = store;
    this.#edition = edition;
  }

  read(): Promise<ClusterAutoCompaction> {
    return this.#store.read(compactionSetting, compactionDefaults);
  }

  async validate(form: Form): Promise<void> {
    this.#settingsOf(form, await this.read());
  }

  async change(form: Form): Promise<void> {
    await this.#store.replace(compactionSetting, compactionDefaults, (current) => ({
      ...current,
      ...this.#settingsOf(form, current),
    }));
  }

  #settingsOf(form: Form, current: ClusterAutoCompaction): ClusterAutoCompaction {
    const problems = new Problems();
    const settings = readClusterSettings(form, current, this.#edition, problems);
    if (problems.any) throw settingsRefusals.invalidAutoCompaction(problems.fields);
    return settings;
  }
}
