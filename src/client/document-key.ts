// Document keys in requests, and their vbuckets.
import { crc32 } from 'node:zlib';
import { collectionIdBytes, readCollectionId, writeCollectionId } from '#wire/collection-id.ts';

/** The number of vbuckets of a bucket. */
export const vbucketCount = 1024;

/** The vbucket that a key (without its collection) belongs to. */
export const vbucketOf = (key: string | Uint8Array): number => ((crc32(key) >>> 16) & 0x7fff) % vbucketCount;

const crcTable = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** Like `vbucketOf`, for a key in a buffer: for a short key faster than a call out of JavaScript. */
export function vbucketOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let crc = -1;
  for (let index = start; index < end; index++)
    crc = (crcTable[(crc ^ (bytes[index] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ((~crc >>> 16) & 0x7fff) % vbucketCount;
}

/** Encodes a key with its collection id in front. */
export function documentKey(collectionId: number, key: string): Buffer {
  const prefixLength = collectionIdBytes(collectionId);
  const prefixedKey = Buffer.allocUnsafe(prefixLength + Buffer.byteLength(key));
  writeCollectionId(prefixedKey, 0, collectionId);
  prefixedKey.write(key, prefixLength);
  return prefixedKey;
}

/** Like `documentKey`, for a key in bytes. */
export function documentKeyOfBytes(collectionId: number, key: Buffer): Buffer {
  const prefixLength = collectionIdBytes(collectionId);
  const prefixedKey = Buffer.allocUnsafe(prefixLength + key.length);
  writeCollectionId(prefixedKey, 0, collectionId);
  key.copy(prefixedKey, prefixLength);
  return prefixedKey;
}

/** The offset of the key after its collection id, which begins at `start`. */
export const keyStartOf = (buffer: Buffer, start: number, end: number): number =>
  start + collectionIdBytes(Math.max(0, readCollectionId(buffer, start, end)));
