// Certificates and keys in the data folder. Each file is written beside and renamed, keys for the owner's eyes only.
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateFiles, KeptCertificates } from './certificates.service.ts';
import type { KeyedCertificate } from './issue.ts';

const ownerOnly = 0o600;
const everyone = 0o644;

export class FolderCertificates implements CertificateFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async load(): Promise<KeptCertificates> {
    const [authority, node, names] = await Promise.all([
      this.#loadPair('ca'),
      this.#loadPair('node'),
      this.#read('node-names.txt'),
    ]);
    return { authority, node, names: names ?? '' };
  }

  async save({
    authority,
    node,
    names,
  }: {
    authority: KeyedCertificate;
    node: KeyedCertificate;
    names: string;
  }) {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    // The list of names goes last: without it the node's certificate is made anew.
    await this.#write('ca-key.pem', authority.key, ownerOnly);
    await this.#write('ca.pem', authority.certificate, everyone);
    await this.#write('node-key.pem', node.key, ownerOnly);
    await this.#write('node.pem', node.certificate, everyone);
    await this.#write('node-names.txt', names, everyone);
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

  async #write(name: string, text: string, mode: number): Promise<void> {
    const path = join(this.#folder, name);
    const file = await open(`${path}.new`, 'w', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
  }
}
