// Reads ranges of rows from a bucket's files; `background-fetches.ts` reads single documents.
import {
  type BackfillPage,
  type BucketFiles,
  type CollectionKeysRequest,
  type DiskEngine,
  type ExpiredKeysRequest,
  fileOf,
} from '../../data/disk-engine.ts';
import type { Now } from '../../vbucket/now.ts';

export interface Storage {
  disk: DiskEngine;
  files: BucketFiles;
}

/** Reads the rows of a vbucket in pages. */
export function readerOf({
  disk,
  files,
}: Storage): (vb: number, afterSeqno: number, targetBytes?: number) => Promise<BackfillPage> {
  const { bucketUuid, fileCount } = files;
  return (vb, afterSeqno, targetBytes) =>
    disk.backfill(bucketUuid, fileOf(vb, fileCount), vb, afterSeqno, targetBytes);
}

/** Keys of expired documents, by file. */
export const expiredKeysOf = ({ disk, files }: Storage, now: Now) => ({
  fileCount: files.fileCount,
  expiredKeys: (file: number, request: Omit<ExpiredKeysRequest, 'atSeconds'>) =>
    disk.expiredKeys(files.bucketUuid, file, { ...request, atSeconds: now.seconds }),
});

/** Keys of the documents of a collection, by file. */
export const collectionKeysOf = ({ disk, files }: Storage) => ({
  fileCount: files.fileCount,
  keys: (file: number, request: CollectionKeysRequest) =>
    disk.collectionKeys(files.bucketUuid, file, request),
});
