// The settings of the service: how long and how large the history of tasks may be.
import { backupRefusals } from './backup.refusals.ts';
import type { BackupSettings, BackupStateStore } from './backup-state.ts';
import { bodyField } from './body-fields.ts';
import { bodyOf } from './read-body.ts';

const fields = {
  /** Days. */
  history_rotation_period: bodyField.optional(bodyField.integer(1, 365)),
  /** MiB. */
  history_rotation_size: bodyField.optional(bodyField.integer(5, 200)),
};

export class SettingsService {
  readonly #state: BackupStateStore;

  constructor(state: BackupStateStore) {
    this.#state = state;
  }

  read(): BackupSettings {
    return this.#state.value.settings;
  }

  async change(body: Buffer): Promise<void> {
    const sent = settingsIn(body);
    if (Object.keys(sent).length === 0)
      throw backupRefusals.invalidBody(undefined, `give ${Object.keys(fields).join(' or ')}`);
    await this.#state.change((before) => ({ ...before, settings: { ...before.settings, ...sent } }));
  }
}

function settingsIn(body: Buffer): Partial<BackupSettings> {
  const sent = Object.entries(bodyOf(body, fields)).filter(([, value]) => value !== undefined);
  return Object.fromEntries(sent);
}
