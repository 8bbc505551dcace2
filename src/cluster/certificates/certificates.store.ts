// The configuration key of certificates; private keys are encrypted under the data folder's key.
import type { SecretBox } from '#auth/secret-box.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import { type CertificatesState, certificatesKey, noCertificates } from './certificates-state.ts';

const sealPurpose = 'certificate key';

export class CertificatesStore {
  readonly #store: ConfigStore;
  readonly #secrets: SecretBox;
  #state: CertificatesState = noCertificates;
  #watch: { stop(): void } | null = null;

  constructor(store: ConfigStore, secrets: SecretBox) {
    this.#store = store;
    this.#secrets = secrets;
  }

  async start(changed: () => void): Promise<void> {
    this.#watch = await this.#store.watch(certificatesKey, (_, entry) => {
      this.#state = (entry?.value as CertificatesState | undefined) ?? noCertificates;
      changed();
    });
  }

  stop(): void {
    this.#watch?.stop();
  }

  /** The state of the last notification; the callback of `change` gets the stored one, which may be newer. */
  get state(): CertificatesState {
    return this.#state;
  }

  /** `change` may throw; then nothing is written. */
  async change(change: (state: CertificatesState) => CertificatesState): Promise<CertificatesState> {
    return (await update(this.#store, certificatesKey, noCertificates, change)).value;
  }

  seal(key: string): string {
    return this.#secrets.seal(sealPurpose, key);
  }

  open(sealed: string): string {
    return this.#secrets.open(sealPurpose, sealed);
  }
}
