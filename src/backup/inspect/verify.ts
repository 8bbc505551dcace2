// Reads everything of a backup and compares it with hashes and counts. Also counts documents by collection.
import { vbucketOf } from '#client/document-key.ts';
import type { DataReader } from '../archive/data-file.adapter.ts';
import type { Repository } from '../archive/repository.adapter.ts';
import { documentsBackwards } from '../archive/vbucket-blocks.ts';
import { ArchiveError } from '../format/archive-error.ts';
import { FrameKind } from '../format/frame.ts';
import type { BackupManifest, BucketRecord, CapturedVbucket } from '../format/manifest.ts';

export interface VerifiedBucket {
  readonly name: string;
  readonly bytes: number;
  readonly documents: number;
  readonly deletions: number;
  /** Documents by `scope.collection`; of dropped collections under their ids. */
  readonly collections: Readonly<Record<string, number>>;
}

/** @throws ArchiveError that names the first damage */
export function verifyBackup(
  repository: Repository,
  manifest: BackupManifest,
  { isWanted, signal }: { isWanted(bucket: string): boolean; signal: AbortSignal },
): VerifiedBucket[] {
  const verified: VerifiedBucket[] = [];
  for (const [index, record] of manifest.buckets.entries()) {
    if (!isWanted(record.name)) continue;
    using data = repository.data(manifest, index);
    if (data.bytes !== record.bytes)
      throw new ArchiveError(`${data.path} has ${data.bytes} bytes; its manifest states ${record.bytes}`);
    verified.push(verifyBucket(data, record, signal));
  }
  return verified;
}

function verifyBucket(data: DataReader, record: BucketRecord, signal: AbortSignal): VerifiedBucket {
  const byId = new Map<number, number>();
  const all = { documents: 0, deletions: 0 };
  for (const [vb, vbucket] of record.vbuckets.entries()) {
    signal.throwIfAborted();
    const { documents, deletions } = verifyVbucket(data, vb, vbucket, byId);
    all.documents += documents;
    all.deletions += deletions;
  }
  const names = new Map(record.collections.map(({ id, scope, name }) => [id, `${scope}.${name}`]));
  const collections = [...byId].map(([id, count]) => [names.get(id) ?? `dropped ${id.toString(16)}`, count]);
  return { name: record.name, bytes: data.bytes, ...all, collections: Object.fromEntries(collections) };
}

function verifyVbucket(
  data: DataReader,
  vb: number,
  vbucket: CapturedVbucket,
  byId: Map<number, number>,
): { documents: number; deletions: number } {
  const found = { documents: 0, deletions: 0 };
  for (const frame of documentsBackwards(data, vb, vbucket)) {
    if (vbucketOf(frame.key) !== vb)
      throw new ArchiveError(`${data.path}: vbucket ${vb} has a key of vbucket ${vbucketOf(frame.key)}`);
    if (frame.kind === FrameKind.mutation) {
      found.documents++;
      byId.set(frame.collectionId, (byId.get(frame.collectionId) ?? 0) + 1);
    } else found.deletions++;
  }
  if (found.documents !== vbucket.documents || found.deletions !== vbucket.deletions)
    throw new ArchiveError(
      `${data.path}: vbucket ${vb} has ${found.documents} documents and ${found.deletions} deletions; ` +
        `its manifest states ${vbucket.documents} and ${vbucket.deletions}`,
    );
  return found;
}
