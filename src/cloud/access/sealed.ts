// Secrets that several servers of one database open: all of them need the same key.
import type { SecretBox } from '#auth/secret-box.ts';
import { ApiError } from '../answers/api-error.ts';

export function openSealed(secrets: SecretBox, purpose: string, sealed: string): string {
  try {
    return secrets.open(purpose, sealed);
  } catch {
    throw new ApiError(
      'InternalServerError',
      `the key of this server does not open a ${purpose}, which another key sealed: all servers of one database need the same one (--key-file, else secret.key in the data folder)`,
    );
  }
}
