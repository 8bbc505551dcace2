// Encrypts secrets that must be presented to another party, and so cannot be hashed, with the key of the data folder: AES-256-GCM with a new
// nonce for each secret. Each is bound to a purpose, so that nobody can replace one secret in a file by another.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Random } from '#ports/random.ts';

/** The sealed text was modified, or sealed for another purpose or under another key. */
export class UnsealError extends Error {
  override readonly name = 'UnsealError';
}

export const secretKeyBytes = 32;
export const nonceBytes = 12;
const tagBytes = 16;

export class SecretBox {
  private readonly key: Buffer;
  private readonly random: Random;

  constructor(key: Buffer, random: Random) {
    if (key.length !== secretKeyBytes)
      throw new Error(`a key of ${secretKeyBytes} bytes is needed, not ${key.length}`);
    this.key = key;
    this.random = random;
  }

  /** A key derived for a purpose: always the same one, independent of the keys for other purposes. */
  derivedKey(purpose: string): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.key, '', `derived: ${purpose}`, secretKeyBytes));
  }

  /** Encrypts and authenticates a text; `open` with the same key and purpose reverses it. */
  seal(purpose: string, secret: string): string {
    const nonce = this.random.bytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', this.key, nonce).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** Throws UnsealError. */
  open(purpose: string, text: string): string {
    const bytes = Buffer.from(text, 'base64');
    const nonce = bytes.subarray(0, nonceBytes);
    try {
      // Require the full tag length: GCM would accept a tag truncated to four bytes, which can be forged.
      const decipher = createDecipheriv('aes-256-gcm', this.key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      return (
        decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8')
      );
    } catch (error) {
      throw new UnsealError(`a ${purpose} was sealed under another key, or changed since`, { cause: error });
    }
  }
}
