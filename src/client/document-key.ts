// Document keys in requests, and their vbuckets.
import { crc32 } from 'node:zlib';
import { collectionIdBytes, readCollectionId, writeCollectionId } from '#wire/collection-id.ts';

/** The number of vbuckets of a bucket. */
export const vbucketCount = 1024;

/** The vbucket that a key (without its collection) belongs to. */
export const vbucketOf = (key: string | Uint8Array): number => ((crc32(key) >>> 16) & 0x7fff) % vbucketCount;

/** Encodes a key with its collection id in front. */
export function documentKey(collectionId: number, key: string): Buffer {
  const at = collectionIdBytes(collectionId);
  const named = Buffer.allocUnsafe(at + Buffer.byteLength(key));
  writeCollectionId(named, 0, collectionId);
  named.write(key, at);
  return named;
}

/** The offset of the key after its collection id. */
export const keyStartOf = (buffer: Buffer, at: number, end: number): number =>
  at + collectionIdBytes(Math.max(0, readCollectionId(buffer, at, end)));
