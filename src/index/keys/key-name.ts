// Names of keys for sets and maps.
import { hash } from 'node:crypto';

/** V8 hashes strings of more than 16,383 characters by their length only. The digests of long keys also take less memory. */
const namedBytesMax = 1_024;

/** Two keys have the same name only if their bytes are the same: no digest in base64 begins with the type of a key. */
export function keyName(key: Uint8Array): string {
  if (key.length > namedBytesMax) return hash('sha256', key, 'base64');
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
}
