// Slow derivation of keys from passwords, done outside the event loop.
import { pbkdf2 } from 'node:crypto';

export interface KeyDerivation {
  pbkdf2(
    options: { password: string; salt: Buffer; iterations: number; hash: 'sha1' | 'sha256' | 'sha512' },
    done: (key: Buffer | null) => void,
  ): void;
}

const keyBytes = { sha1: 20, sha256: 32, sha512: 64 } as const;

export const realKeyDerivation: KeyDerivation = {
  pbkdf2({ password, salt, iterations, hash }, done) {
    pbkdf2(password, salt, iterations, keyBytes[hash], hash, (error, key) => done(error ? null : key));
  },
};
