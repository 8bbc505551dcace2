// Keys of documents as requests carry them, and the vbuckets that they belong to.
import { crc32 } from 'node:zlib';
import { collectionIdBytes, readCollectionId, writeCollectionId } from '#wire/collection-id.ts';

/** Of a bucket. */
export const vbucketCount = 1024;

/** The vbucket that a key (without its collection) belongs to. */
export const vbucketOf = (key: string | Uint8Array): number => ((crc32(key) >>> 16) & 0x7fff) % vbucketCount;

/** A key with its collection in front. */
export function documentKey(collectionId: number, key: string): Buffer {
  const at = collectionIdBytes(collectionId);
  const named = Buffer.allocUnsafe(at + Buffer.byteLength(key));
  writeCollectionId(named, 0, collectionId);
  named.write(key, at);
  return named;
}

/** Where a key begins behind its collection. */
export const keyStartOf = (buffer: Buffer, at: number, end: number): number =>
  at + collectionIdBytes(Math.max(0, readCollectionId(buffer, at, end)));
