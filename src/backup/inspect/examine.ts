// The versions of one document in all backups of a repository. Reads one vbucket of each.
import { exactJson } from '#base/exact-json.ts';
import { vbucketOf } from '#client/document-key.ts';
import { Datatype } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import type { Repository } from '../archive/repository.adapter.ts';
import { documentsBackwards } from '../archive/vbucket-blocks.ts';
import type { Frame } from '../format/frame.ts';
import type { BackupManifest, CapturedVbucket } from '../format/manifest.ts';

export interface ExaminedVersion {
  readonly backup: string;
  readonly sequence_number: number;
  readonly key: string;
  readonly deleted: boolean;
  /** The JSON text of the value, whose numbers have the digits of the document; documents that are not JSON as a text in base64. */
  readonly value: string;
  readonly metadata: {
    readonly cas: string;
    readonly revseqno: number;
    readonly flags: number;
    readonly expiry: number;
    readonly datatype: number;
  };
}

export interface ExaminedKey {
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
  readonly key: string;
}

/** The oldest backup first. A backup without a change of the document yields no version. */
export function* examine(repository: Repository, wanted: ExaminedKey): Generator<ExaminedVersion> {
  for (const name of repository.complete()) {
    const found = versionIn(repository, repository.manifest(name), wanted);
    if (found !== null) yield found;
  }
}

function versionIn(
  repository: Repository,
  manifest: BackupManifest,
  wanted: ExaminedKey,
): ExaminedVersion | null {
  const index = manifest.buckets.findIndex(({ name }) => name === wanted.bucket);
  const record = manifest.buckets[index];
  const collection = record?.collections.find(
    ({ scope, name }) => scope === wanted.scope && name === wanted.collection,
  );
  if (record === undefined || collection === undefined) return null;
  const key = Buffer.from(wanted.key);
  const vb = vbucketOf(key);
  using data = repository.data(manifest, index);
  for (const frame of documentsBackwards(data, vb, record.vbuckets[vb] as CapturedVbucket))
    if (frame.collectionId === collection.id && frame.key.equals(key)) return versionOf(manifest.name, frame);
  return null;
}

const versionOf = (backup: string, frame: Frame): ExaminedVersion => ({
  backup,
  sequence_number: frame.seqno,
  key: frame.key.toString(),
  deleted: frame.isDeletion,
  value: frame.isDeletion ? 'null' : exportedBody(frame),
  metadata: {
    cas: frame.cas.toString(),
    revseqno: frame.rev,
    flags: frame.flags,
    expiry: frame.expiry,
    datatype: frame.datatype,
  },
});

/** The body without its extended attributes. */
export function bodyOf({ datatype, value }: Frame): Buffer {
  return (datatype & Datatype.xattr) === 0
    ? value
    : value.subarray(Math.max(0, bodyStart(value, 0, value.length)));
}

export const isJsonFrame = ({ datatype }: Frame): boolean => (datatype & Datatype.json) !== 0;

function exportedBody(frame: Frame): string {
  const body = bodyOf(frame);
  return (isJsonFrame(frame) ? jsonTextOf(body) : null) ?? JSON.stringify(body.toString('base64'));
}

/** Null for a body that is not JSON, although its datatype says so. */
function jsonTextOf(body: Buffer): string | null {
  try {
    return JSON.stringify(exactJson(body.toString()));
  } catch {
    return null;
  }
}
