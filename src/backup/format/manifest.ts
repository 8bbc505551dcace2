// The manifest of a backup: what it contains, where, and up to which seqno. Written last; a folder without it is a partial backup.

import { ArchiveError } from './archive-error.ts';
import { field, type Shape, ShapeError } from './shape.ts';

export const formatName = 'divan-backup';
export const formatVersion = 1;
export const vbucketCount = 1024;
const bucketsMax = 100;
const collectionsMax = 10_000;
const indexesMax = 100_000;
const historyMax = 100;

/** A vbucket in a backup. */
export interface VbucketRecord {
  /** The history that `to` belongs to; decimal digits. */
  readonly uuid: string;
  /** Newest first: uuid and the seqno at which that history began. */
  readonly history: readonly (readonly [uuid: string, seqno: number])[];
  /** The backup has the changes after this seqno; 0: all, without earlier backups. */
  readonly from: number;
  readonly to: number;
  /** Offset of its last block in the data file, 0: it has none. */
  readonly last: number;
  readonly blocks: number;
  readonly documents: number;
  readonly deletions: number;
}

export interface CollectionRecord {
  readonly id: number;
  readonly scope: string;
  readonly name: string;
  readonly maxTtl: number;
}

/** Parameters of bucket creation, as the REST API takes them. */
export type BucketSettings = Readonly<Record<string, string | number>>;

export interface IndexRecord {
  readonly name: string;
  readonly definition: string;
}

export interface BucketRecord {
  readonly name: string;
  readonly uuid: string;
  /** Of its data file. */
  readonly bytes: number;
  readonly settings: BucketSettings;
  /** Scopes also without collections. */
  readonly scopes: readonly string[];
  readonly collections: readonly CollectionRecord[];
  readonly indexes: readonly IndexRecord[];
  readonly vbuckets: readonly VbucketRecord[];
}

export interface Manifest {
  readonly format: string;
  readonly version: number;
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly repository: string;
  readonly name: string;
  readonly type: 'full' | 'incremental';
  /** The backup that an incremental one continues, by name and id. */
  readonly after: { readonly name: string; readonly id: string } | null;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly source: { readonly cluster: string; readonly version: string };
  readonly buckets: readonly BucketRecord[];
}

const idPattern = /^[0-9a-f]{32}$/;
export const backupNamePattern = /^\d{4}-\d\d-\d\dT\d\d_\d\d_\d\d\.\d{3}Z(-\d{1,3})?$/;
const digits = /^\d{1,20}$/;

const history: Shape = field.list(historyMax, field.pair(field.text(digits), field.count));
const vbucket: Shape = field.object({
  uuid: field.text(digits),
  history,
  from: field.count,
  to: field.count,
  last: field.count,
  blocks: field.count,
  documents: field.count,
  deletions: field.count,
});
const bucket: Shape = field.object({
  name: field.text(/^[\w.%-]{1,100}$/),
  uuid: field.text(/^[\w-]{1,64}$/),
  bytes: field.count,
  settings: field.record(field.scalar),
  scopes: field.list(collectionsMax, field.text(/^[\w%-]{1,251}$/)),
  collections: field.list(
    collectionsMax,
    field.object({
      id: field.count,
      scope: field.text(/^[\w%-]{1,251}$/),
      name: field.text(/^[\w%-]{1,251}$/),
      maxTtl: field.count,
    }),
  ),
  indexes: field.list(
    indexesMax,
    field.object({ name: field.text(/^.{1,1000}$/s), definition: field.text(/^.{1,100000}$/s) }),
  ),
  vbuckets: field.list(vbucketCount, vbucket, vbucketCount),
});
const manifest: Shape = field.object({
  format: field.text(/^divan-backup$/),
  version: field.count,
  id: field.text(idPattern),
  repository: field.text(idPattern),
  name: field.text(backupNamePattern),
  type: field.text(/^(full|incremental)$/),
  after: field.nullable(field.object({ name: field.text(backupNamePattern), id: field.text(idPattern) })),
  startedAt: field.text(/^.{1,40}$/),
  endedAt: field.text(/^.{1,40}$/),
  source: field.object({ cluster: field.text(/^.{0,100}$/), version: field.text(/^.{0,100}$/) }),
  buckets: field.list(bucketsMax, bucket),
});

/** @throws ArchiveError that names the field */
export function parseManifest(text: string, path: string): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new ArchiveError(`${path} is not JSON: ${(error as Error).message}`);
  }
  const { format, version } = (json ?? {}) as Partial<Manifest>;
  if (format !== formatName) throw new ArchiveError(`${path} is not the manifest of a backup`);
  if (version !== formatVersion)
    throw new ArchiveError(
      `${path} has format version ${String(version)}; this release reads version ${formatVersion}`,
    );
  try {
    manifest(json, '');
  } catch (error) {
    if (error instanceof ShapeError) throw new ArchiveError(`${path}: ${error.message}`);
    throw error;
  }
  return checked(json as Manifest, path);
}

/** @throws ArchiveError for what is not the record of a vbucket */
export function vbucketRecord(json: unknown): VbucketRecord {
  try {
    vbucket(json, 'vbucket');
    return json as VbucketRecord;
  } catch (error) {
    if (error instanceof ShapeError) throw new ArchiveError(error.message);
    throw error;
  }
}

/** Checks what the fields say together. */
function checked(read: Manifest, path: string): Manifest {
  if ((read.type === 'incremental') !== (read.after !== null))
    throw new ArchiveError(`${path}: after: only an incremental backup names the one before it`);
  for (const { name, bytes, vbuckets } of read.buckets)
    for (const [vb, { from, to, last, blocks, documents, deletions }] of vbuckets.entries()) {
      const isEmpty = last === 0 && blocks === 0 && documents === 0 && deletions === 0;
      if (from > to || last >= Math.max(1, bytes) || (last === 0 && !isEmpty) || blocks > bytes)
        throw new ArchiveError(`${path}: buckets.${name}.vbuckets.${vb} contradicts itself`);
    }
  return read;
}
