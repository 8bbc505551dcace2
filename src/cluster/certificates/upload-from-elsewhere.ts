// Whether other machines may upload a root certificate. The address of the connection decides what is this machine;
// the contents of a request do not count.
import { isLoopback } from '#base/loopback.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { certificateRefusals } from '../refusals/certificates.refusals.ts';

const name = 'certificate-upload';
const defaults = { allowNonLocalCACertUpload: false };

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
    if (!isLoopback(remoteAddress)) throw certificateRefusals.settingIsLocal();
    const wanted = text.trim();
    if (wanted !== 'true' && wanted !== 'false') {
      throw certificateRefusals.invalidUploadSetting();
    }
    await this.#settings.change(name, defaults, { allowNonLocalCACertUpload: wanted === 'true' });
  }

  async check(remoteAddress: string): Promise<void> {
    if (isLoopback(remoteAddress) || (await this.allowed())) return;
    throw certificateRefusals.uploadIsLocal();
  }
}
