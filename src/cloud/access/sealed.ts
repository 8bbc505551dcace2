// Secrets that several API servers of one database decrypt: all servers need the same key file.
import type { SecretBox } from '#auth/secret-box.ts';
import { ApiError } from '../answers/api-error.ts';

export function openSealed(secrets: SecretBox, purpose: string, sealed: string): string {
  try {
    return secrets.open(purpose, sealed);
  } catch {
    throw new ApiError(
      'InternalServerError',
      `this server’s key cannot decrypt a stored secret (${purpose}), which another key encrypted: all servers of one database need the same key (--key-file, else secret.key in the data folder)`,
    );
  }
}
