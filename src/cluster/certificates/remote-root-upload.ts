// The setting whether other machines may upload a root certificate. A request comes from this machine if the address of its
// connection is a loopback address.
import { isLoopback } from '#base/loopback.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { certificateRefusals } from '../refusals/certificates.refusals.ts';

const name = 'certificate-upload';
const defaults = { allowNonLocalCACertUpload: false };

export class RemoteRootUpload {
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
