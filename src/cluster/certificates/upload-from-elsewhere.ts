// Whether other machines may upload a root certificate. Who is this machine is told by the address that a connection came from;
// what a request says of itself does not count.
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

  /** Refuses a change by another machine, whatever is allowed. */
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
