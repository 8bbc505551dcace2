// The backups of a repository with their sizes and counts, read from the manifests only.
import type { Repository } from '../archive/repository.adapter.ts';
import type { BackupManifest, BucketRecord } from '../format/manifest.ts';

export interface BucketSummary {
  readonly name: string;
  readonly bytes: number;
  readonly documents: number;
  readonly deletions: number;
  readonly collections: number;
  readonly indexes: number;
}

export interface BackupSummary {
  readonly name: string;
  readonly type: 'full' | 'incremental' | 'partial';
  /** The name of the backup that this one continues; null: it is full, or partial. */
  readonly after: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly buckets: readonly BucketSummary[];
}

/** The oldest first; interrupted backups last. */
export function summaries(repository: Repository): BackupSummary[] {
  const complete = repository.complete().map((name) => summaryOf(repository.manifest(name)));
  const partial = repository.partial().map((name) => ({
    name,
    type: 'partial' as const,
    after: null,
    endedAt: null,
    buckets: [],
    startedAt: repository.readPartial(name)?.startedAt ?? null,
  }));
  return [...complete, ...partial];
}

export const summaryOf = ({
  name,
  type,
  after,
  startedAt,
  endedAt,
  buckets,
}: BackupManifest): BackupSummary => ({
  name,
  type,
  startedAt,
  endedAt,
  after: after?.name ?? null,
  buckets: buckets.map(bucketSummary),
});

function bucketSummary({ name, bytes, vbuckets, collections, indexes }: BucketRecord): BucketSummary {
  let [documents, deletions] = [0, 0];
  for (const vbucket of vbuckets) {
    documents += vbucket.documents;
    deletions += vbucket.deletions;
  }
  return { name, bytes, documents, deletions, collections: collections.length, indexes: indexes.length };
}
