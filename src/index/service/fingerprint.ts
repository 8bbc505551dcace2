// What of a definition decides about rows: a file made for another fingerprint is built anew.
import { createHash } from 'node:crypto';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';

/** Raised when the language evaluates an expression differently than before, or the key format changes. */
const languageVersion = 1;

export function fingerprintOf({ isPrimary, keys, condition }: IndexDefinition): string {
  const text = JSON.stringify([languageVersion, isPrimary, keys, condition ?? null]);
  return createHash('sha256').update(text).digest('hex');
}
