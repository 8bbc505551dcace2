// The manifest of a backup: what it contains, where, and up to which seqno. Written last; a folder without it is a partial backup.

import { vbucketCount } from '#client/document-key.ts';
import { BackupError } from './backup-error.ts';
import { jsonField, type Shape, ShapeError } from './shape.ts';

export const formatName = 'divan-backup';
export const archiveVersion = 1;
/** Buckets in one backup. */
export const bucketsMax = 1_000;
/** Scopes of one bucket, and collections of one bucket. */
const collectionsMax = 10_000;
/** Index definitions of one bucket. */
export const indexesMax = 100_000;
/** Characters of a definition: the query service takes no statement of more bytes. */
const definitionLengthMax = 1 << 20;
/** Entries of a failover log. */
const historyMax = 100;
/** Backups that one merge replaced. */
const mergedMax = 100_000;

/** A vbucket in a backup. */
export interface CapturedVbucket {
  /** Names the newest history, which `to` belongs to; decimal digits. */
  readonly uuid: string;
  /** The failover log: the uuid of each history and the seqno at which the history began, the newest first. */
  readonly history: readonly (readonly [uuid: string, seqno: number])[];
  /** The backup has the changes after this seqno, up to `to`. With 0 it has all of them: no earlier backup is needed. */
  readonly from: number;
  readonly to: number;
  /** Offset of the vbucket's last block in the data file; 0: the vbucket has no block. */
  readonly last: number;
  readonly blocks: number;
  readonly documents: number;
  readonly deletions: number;
}

/** A vbucket as its end frame (`FrameKind.end`) has it: also with counts for each collection, which earlier releases did not write. */
export interface CountedVbucket extends CapturedVbucket {
  /** The number of documents by the id of their collection. */
  readonly collections?: Readonly<Record<string, number>>;
}

export interface CollectionRecord {
  readonly id: number;
  readonly scope: string;
  readonly name: string;
  /** Seconds. */
  readonly maxTtl: number;
  /** The number of documents in this backup; absent in manifests of earlier releases. */
  readonly documents?: number;
}

/** Parameters of bucket creation, as the REST API takes them. */
export type BucketSettings = Readonly<Record<string, string | number>>;

export interface IndexRecord {
  readonly name: string;
  /** The statement that creates the index. */
  readonly definition: string;
  /** The keyspace of the index; absent in manifests of earlier releases. */
  readonly scope?: string;
  readonly collection?: string;
}

export interface BucketRecord {
  readonly name: string;
  readonly uuid: string;
  /** Size of its data file. */
  readonly bytes: number;
  readonly settings: BucketSettings;
  /** All scopes, also those without collections. */
  readonly scopes: readonly string[];
  readonly collections: readonly CollectionRecord[];
  readonly indexes: readonly IndexRecord[];
  readonly vbuckets: readonly CapturedVbucket[];
}

export interface BackupManifest {
  readonly format: string;
  readonly version: number;
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Id of the repository; 32 hexadecimal digits. */
  readonly repository: string;
  readonly name: string;
  readonly type: 'full' | 'incremental';
  /** The backup that an incremental one continues, by name and id. */
  readonly after: { readonly name: string; readonly id: string } | null;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly source: { readonly cluster: string; readonly version: string };
  /** Absent unless a merge wrote the data files. */
  readonly merged?: MergedBackups;
  readonly buckets: readonly BucketRecord[];
}

/** The backups that a merge made into one: the newest of them remains, with new data files. */
export interface MergedBackups {
  /** Id that the data files have instead of the id of the backup; 32 hexadecimal digits. */
  readonly id: string;
  /** The data files have this number in their names. */
  readonly generation: number;
  /** Names of the backups that the merge replaced, the oldest first. */
  readonly backups: readonly string[];
}

const idPattern = /^[0-9a-f]{32}$/;
export const backupNamePattern = /^\d{4}-\d\d-\d\dT\d\d_\d\d_\d\d\.\d{3}Z(-\d{1,3})?$/;
/** Names of scopes and collections. */
const collectionNamePattern = /^[\w%-]{1,251}$/;
/** A 64-bit number in decimal. */
const digits = /^\d{1,20}$/;

const historyShape: Shape = jsonField.list(
  historyMax,
  jsonField.pair(jsonField.text(digits), jsonField.count),
);
const vbucketShape: Shape = jsonField.object({
  uuid: jsonField.text(digits),
  history: historyShape,
  from: jsonField.count,
  to: jsonField.count,
  last: jsonField.count,
  blocks: jsonField.count,
  documents: jsonField.count,
  deletions: jsonField.count,
  collections: jsonField.optional(jsonField.record(jsonField.count)),
});
const indexShape: Shape = jsonField.object({
  name: jsonField.text(/^.{1,1000}$/s),
  definition: jsonField.textUpTo(definitionLengthMax),
  scope: jsonField.optional(jsonField.text(collectionNamePattern)),
  collection: jsonField.optional(jsonField.text(collectionNamePattern)),
});
const bucketShape: Shape = jsonField.object({
  name: jsonField.text(/^[\w.%-]{1,100}$/),
  uuid: jsonField.text(/^[\w-]{1,64}$/),
  bytes: jsonField.count,
  settings: jsonField.record(jsonField.scalar),
  scopes: jsonField.list(collectionsMax, jsonField.text(collectionNamePattern)),
  collections: jsonField.list(
    collectionsMax,
    jsonField.object({
      id: jsonField.count,
      scope: jsonField.text(collectionNamePattern),
      name: jsonField.text(collectionNamePattern),
      maxTtl: jsonField.count,
      documents: jsonField.optional(jsonField.count),
    }),
  ),
  indexes: jsonField.list(indexesMax, indexShape),
  vbuckets: jsonField.list(vbucketCount, vbucketShape, vbucketCount),
});
const manifestShape: Shape = jsonField.object({
  format: jsonField.text(new RegExp(`^${formatName}$`)),
  version: jsonField.count,
  id: jsonField.text(idPattern),
  repository: jsonField.text(idPattern),
  name: jsonField.text(backupNamePattern),
  type: jsonField.text(/^(full|incremental)$/),
  after: jsonField.nullable(
    jsonField.object({ name: jsonField.text(backupNamePattern), id: jsonField.text(idPattern) }),
  ),
  startedAt: jsonField.text(/^.{1,40}$/),
  endedAt: jsonField.text(/^.{1,40}$/),
  merged: jsonField.optional(
    jsonField.object({
      id: jsonField.text(idPattern),
      generation: jsonField.count,
      backups: jsonField.list(mergedMax, jsonField.text(backupNamePattern)),
    }),
  ),
  source: jsonField.object({ cluster: jsonField.text(/^.{0,100}$/), version: jsonField.text(/^.{0,100}$/) }),
  buckets: jsonField.list(bucketsMax, bucketShape),
});

/** @throws BackupError that names the field */
export function parseManifest(text: string, path: string): BackupManifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new BackupError(`${path} is not JSON: ${(error as Error).message}`);
  }
  const { format, version } = (json ?? {}) as Partial<BackupManifest>;
  if (format !== formatName) throw new BackupError(`${path} is not the manifest of a backup`);
  if (version !== archiveVersion)
    throw new BackupError(
      `${path} has format version ${String(version)}; this release reads version ${archiveVersion}`,
    );
  try {
    manifestShape(json, '');
  } catch (error) {
    if (error instanceof ShapeError) throw new BackupError(`${path}: ${error.message}`);
    throw error;
  }
  return checked(json as BackupManifest, path);
}

/** Reads one bucket of a manifest. @throws BackupError that names the field */
export function parseBucket(text: string, index: number, path: string): BucketRecord {
  const json: unknown = JSON.parse(text);
  const place = `buckets.${index}`;
  try {
    bucketShape(json, place);
  } catch (error) {
    if (error instanceof ShapeError) throw new BackupError(`${path}: ${error.message}`);
    throw error;
  }
  checkVbuckets(json as BucketRecord, path);
  return json as BucketRecord;
}

/** Checks buckets that were read one by one. @throws BackupError */
export function checkBuckets(buckets: readonly BucketRecord[], path: string): void {
  if (buckets.length > bucketsMax)
    throw new BackupError(`${path}: buckets: must be a list of at most ${bucketsMax} elements`);
  checkNames(buckets, path);
}

/** Whether a reader of a manifest accepts this record of an index. */
export function isIndexRecord(json: unknown): boolean {
  try {
    indexShape(json, '');
    return true;
  } catch (error) {
    if (error instanceof ShapeError) return false;
    throw error;
  }
}

/** @throws BackupError for what is not the record of a vbucket */
export function vbucketRecord(json: unknown): CountedVbucket {
  try {
    vbucketShape(json, 'vbucket');
    return json as CountedVbucket;
  } catch (error) {
    if (error instanceof ShapeError) throw new BackupError(error.message);
    throw error;
  }
}

/** Checks the fields against each other. */
function checked(read: BackupManifest, path: string): BackupManifest {
  if ((read.type === 'incremental') !== (read.after !== null))
    throw new BackupError(`${path}: after: only an incremental backup names the one before it`);
  checkNames(read.buckets, path);
  for (const record of read.buckets) checkVbuckets(record, path);
  return read;
}

function checkVbuckets({ name, bytes, vbuckets }: BucketRecord, path: string): void {
  for (const [vb, { from, to, last, blocks, documents, deletions }] of vbuckets.entries()) {
    const isEmpty = last === 0 && blocks === 0 && documents === 0 && deletions === 0;
    if (from > to || last >= Math.max(1, bytes) || (last === 0 && !isEmpty) || blocks > bytes)
      throw new BackupError(
        `${path}: buckets.${name}.vbuckets.${vb}: from, to, last, blocks and bytes do not fit together`,
      );
  }
}

/** A node has no two buckets whose names differ in case only, and no two collections of one id or name. */
function checkNames(buckets: readonly BucketRecord[], path: string): void {
  const hasDuplicates = (values: readonly unknown[]): boolean => new Set(values).size < values.length;
  if (hasDuplicates(buckets.map(({ name }) => name.toLowerCase())))
    throw new BackupError(`${path}: buckets: two have the same name`);
  for (const { name, scopes, collections } of buckets)
    if (
      hasDuplicates(scopes) ||
      hasDuplicates(collections.map(({ id }) => id)) ||
      hasDuplicates(collections.map((collection) => `${collection.scope}.${collection.name}`))
    )
      throw new BackupError(`${path}: buckets.${name}: two scopes or collections have the same name or id`);
}
