// Key derivation in Node's thread pool.
import { pbkdf2, scrypt } from 'node:crypto';
import type { Kdf, KdfHash } from './kdf.ts';

const hashBytes: Record<KdfHash, number> = { sha1: 20, sha256: 32, sha512: 64 };
const scryptBytes = 32;

export const realKdf: Kdf = {
  scrypt: (password, salt, { n, r, p }) =>
    new Promise((resolve, reject) => {
      const options = { N: n, r, p, maxmem: 2 * 128 * n * r };
      scrypt(password, salt, scryptBytes, options, (error, key) => (error ? reject(error) : resolve(key)));
    }),
  pbkdf2: (password, salt, { iterations, hash }) =>
    new Promise((resolve, reject) => {
      const done = (error: Error | null, key: Buffer) => (error ? reject(error) : resolve(key));
      pbkdf2(password, salt, iterations, hashBytes[hash], hash, done);
    }),
};
