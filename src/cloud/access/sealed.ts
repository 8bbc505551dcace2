// Secrets that several servers of one database open: all of them need the same key.
import type { SecretBox } from '#auth/secret-box.ts';
import { Goof } from '../http/goof.ts';

export function openSealed(secrets: SecretBox, purpose: string, sealed: string): string {
  try {
    return secrets.open(purpose, sealed);
  } catch {
    throw new Goof(
      'InternalServerError',
      `this server cannot open a ${purpose} that another one sealed: start all servers of one database with the same --key-file`,
    );
  }
}
