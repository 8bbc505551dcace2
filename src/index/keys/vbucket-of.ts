// The vbucket that a document belongs to.
import { crc32 } from 'node:zlib';

/** Of a bucket. */
export const vbucketCount = 1024;

export const vbucketOf = (id: Uint8Array): number => ((crc32(id) >>> 16) & 0x7fff) % vbucketCount;
