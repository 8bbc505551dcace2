// What the API shows of a repository: its backups with sizes and counts, from their manifests.
import type { Repository } from '../archive/repository.adapter.ts';
import type { BackupManifest, BucketRecord } from '../format/manifest.ts';

export interface RepositoryInfo {
  /** Bytes of all complete backups. */
  readonly size: number;
  readonly backups: readonly BackupInfo[];
}

type BackupInfo = ReturnType<typeof completeBackup> | ReturnType<typeof partialBackup>;

/** The oldest first; interrupted backups last. */
export function repositoryInfo(repository: Repository): RepositoryInfo {
  const complete = repository.complete().map((name) => completeBackup(repository.manifest(name)));
  const backups = [...complete, ...repository.partial().map(partialBackup)];
  return { size: complete.reduce((sum, { size }) => sum + size, 0), backups };
}

function completeBackup({ name, type, source, merged, buckets }: BackupManifest) {
  const kind = type === 'full' ? 'FULL' : 'INCR';
  return {
    date: name,
    type: merged === undefined ? kind : `MERGE - ${kind}`,
    source: merged === undefined ? source.cluster : 'Merge',
    ...(merged !== undefined && { range: merged.backups }),
    events: 0,
    fts_alias: 0,
    size: buckets.reduce((sum, { bytes }) => sum + bytes, 0),
    buckets: buckets.map(bucketInfo),
    complete: true,
    source_cluster_uuid: source.cluster,
  };
}

const partialBackup = (name: string) => ({
  date: name,
  type: 'N/A',
  source: '',
  size: 0,
  buckets: [],
  complete: false,
});

function bucketInfo({ name, bytes, vbuckets, indexes, scopes, collections }: BucketRecord) {
  const sum = (field: 'documents' | 'deletions'): number =>
    vbuckets.reduce((all, vbucket) => all + vbucket[field], 0);
  return {
    name,
    size: bytes,
    items: sum('documents'),
    mutations: sum('documents'),
    tombstones: sum('deletions'),
    views_count: 0,
    fts_count: 0,
    index_count: indexes.length,
    analytics_count: 0,
    scopes: Object.fromEntries(scopes.map((scope) => [scope, scopeInfo(scope, collections)])),
  };
}

/** A scope and its collections. Numbers of documents are left out for a backup of an earlier release, whose manifest does not have them. */
function scopeInfo(name: string, collections: BucketRecord['collections']) {
  const inScope = collections.filter(({ scope }) => scope === name);
  const isCounted = inScope.every(({ documents }) => documents !== undefined);
  const items = inScope.reduce((sum, { documents = 0 }) => sum + documents, 0);
  return {
    name,
    ...(isCounted && { items, mutations: items }),
    collections: Object.fromEntries(inScope.map((one) => [one.id.toString(16), collectionInfo(one)])),
  };
}

const collectionInfo = ({ id, name, documents }: BucketRecord['collections'][number]) => ({
  id,
  name,
  ...(documents !== undefined && { items: documents, mutations: documents }),
});
