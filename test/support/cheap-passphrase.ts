// The passphrase of an encrypted repository at the least cost: a test that opens it often would spend its time on scrypt.
import { createCipheriv, createDecipheriv, scryptSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Sealing {
  cost: number;
  blockSize: number;
  parallelization: number;
  salt: string;
  /** Nonce, sealed key and tag. */
  wrappedKey: string;
}

const cipherName = 'aes-256-gcm';
const [nonceBytes, keyBytes, tagBytes] = [12, 32, 16];

/** Wraps the key of the repository anew, under the same passphrase. */
export function makePassphraseCheap(folder: string, passphrase: string): void {
  const file = join(folder, 'repository.json');
  const description = JSON.parse(readFileSync(file, 'utf8')) as { id: string; encryption: Sealing };
  const { id, encryption } = description;
  const wrapped = Buffer.from(encryption.wrappedKey, 'hex');
  const nonce = wrapped.subarray(0, nonceBytes);
  const decipher = createDecipheriv(cipherName, wrappingKey(passphrase, encryption), nonce);
  decipher.setAAD(Buffer.from(id, 'hex')).setAuthTag(wrapped.subarray(-tagBytes));
  const key = Buffer.concat([decipher.update(wrapped.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  const cheap = { ...encryption, cost: 2 };
  const cipher = createCipheriv(cipherName, wrappingKey(passphrase, cheap), nonce);
  cipher.setAAD(Buffer.from(id, 'hex'));
  const sealed = Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
  const changed = { ...description, encryption: { ...cheap, wrappedKey: sealed.toString('hex') } };
  writeFileSync(file, JSON.stringify(changed));
}

const wrappingKey = (passphrase: string, { cost: N, blockSize: r, parallelization: p, salt }: Sealing) =>
  scryptSync(passphrase, Buffer.from(salt, 'hex'), keyBytes, { N, r, p, maxmem: 256 << 20 });
