// Reads and removes certificates and keys in files of the data folder, where older versions stored them; this version stores them in the
// configuration.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateFiles, StoredCertificates } from './certificates.service.ts';
import type { KeyedCertificate } from './issue.ts';

export class FolderCertificates implements CertificateFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async load(): Promise<StoredCertificates> {
    const [authority, node, names] = await Promise.all([
      this.#loadPair('ca'),
      this.#loadPair('node'),
      this.#read('node-names.txt'),
    ]);
    return { authority, node, names: names ?? '' };
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #loadPair(name: string): Promise<KeyedCertificate | null> {
    const [certificate, key] = await Promise.all([this.#read(`${name}.pem`), this.#read(`${name}-key.pem`)]);
    return certificate === null || key === null ? null : { certificate, key };
  }

  async #read(name: string): Promise<string | null> {
    try {
      return await readFile(join(this.#folder, name), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }
}
