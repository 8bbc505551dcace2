// Stores the alert settings; the mail server's password is encrypted.
import type { SecretBox } from '#auth/secret-box.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import {
  type AlertLimits,
  type AlertSettings,
  defaultAlertLimits,
  defaultAlertSettings,
  type MailServer,
} from './alert-settings.ts';

const key = 'alerts';
const limitsKey = 'alertLimits';
const sealPurpose = 'alerts/mail-server';

interface StoredAlerts extends Omit<AlertSettings, 'server'> {
  server: Omit<MailServer, 'password'> & { sealedPassword: string };
}

export class AlertsStore {
  readonly #settings: SettingsStore;
  readonly #secrets: SecretBox;

  constructor(settings: SettingsStore, secrets: SecretBox) {
    this.#settings = settings;
    this.#secrets = secrets;
  }

  async read(): Promise<AlertSettings> {
    const stored = await this.#settings.read<StoredAlerts>(key, this.#stored(defaultAlertSettings));
    const { sealedPassword, ...server } = stored.server;
    const password = sealedPassword === '' ? '' : this.#secrets.open(sealPurpose, sealedPassword);
    return { ...stored, server: { ...server, password } };
  }

  async write(settings: AlertSettings): Promise<void> {
    const stored = this.#stored(settings);
    await this.#settings.replace(key, stored, (before) => ({
      ...before,
      ...stored,
      server: { ...before.server, ...stored.server },
    }));
  }

  limits(): Promise<AlertLimits> {
    return this.#settings.read(limitsKey, defaultAlertLimits);
  }

  changeLimits(changes: Partial<AlertLimits>): Promise<AlertLimits> {
    return this.#settings.change(limitsKey, defaultAlertLimits, changes);
  }

  #stored({ server, ...settings }: AlertSettings): StoredAlerts {
    const { password, ...open } = server;
    const sealedPassword = password === '' ? '' : this.#secrets.seal(sealPurpose, password);
    return { ...settings, server: { ...open, sealedPassword } };
  }
}
