// Whether other machines may upload a root certificate. The address of the connection decides what is this machine;
// the contents of a request do not count.
import { isLoopback } from '#base/loopback.ts';
import { refuse } from '#contract/errors.ts';
import type { SettingsStore } from '../config/settings.store.ts';

const name = 'certificate-upload';
const defaults = { allowNonLocalCACertUpload: false };
const localOnly = 'API is accessible from localhost only';
const wayOut =
  'this behavior can be changed by means of POST /settings/security/allowNonLocalCACertUpload, see documentation for details';

export class UploadFromElsewhere {
  readonly #settings: SettingsStore;

  constructor(settings: SettingsStore) {
    this.#settings = settings;
  }

  async allowed(): Promise<boolean> {
    return (await this.#settings.read(name, defaults)).allowNonLocalCACertUpload;
  }

  /** Refuses a change by another machine, also if uploads are allowed. */
  async set(text: string, remoteAddress: string): Promise<void> {
    if (!isLoopback(remoteAddress)) throw refuse.text(localOnly);
    const wanted = text.trim();
    if (wanted !== 'true' && wanted !== 'false') {
      throw refuse.errorList(["allowNonLocalCACertUpload - Accepted values are 'true' and 'false'."]);
    }
    await this.#settings.change(name, defaults, { allowNonLocalCACertUpload: wanted === 'true' });
  }

  async check(remoteAddress: string): Promise<void> {
    if (isLoopback(remoteAddress) || (await this.allowed())) return;
    throw refuse.text(`${localOnly} (${wayOut})`);
  }
}
