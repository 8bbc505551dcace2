// Reads a whole backup, compares it with its hashes and counts, and counts the documents of each collection.
import { type Clock, nextTurn } from '#ports/clock.ts';
import { fraction, type Random } from '#ports/random.ts';
import type { DataReader } from '../archive/data-file.adapter.ts';
import type { Repository } from '../archive/repository.adapter.ts';
import { documentsBackwards } from '../archive/vbucket-blocks.ts';
import { BackupError } from '../format/backup-error.ts';
import { FrameKind } from '../format/frame.ts';
import type { BackupManifest, BucketRecord, CapturedVbucket } from '../format/manifest.ts';

export interface VerifiedBucket {
  readonly name: string;
  readonly bytes: number;
  readonly documents: number;
  readonly deletions: number;
  /** Documents by `scope.collection`; for a dropped collection by its id. */
  readonly collections: Readonly<Record<string, number>>;
}

export interface Verification {
  isWanted(bucket: string): boolean;
  clock: Pick<Clock, 'soon'>;
  signal: AbortSignal;
}

export interface SampleVerification extends Pick<Verification, 'clock' | 'signal'> {
  random: Random;
}

/** @throws BackupError that names the first damage */
export async function verifyBackup(
  repository: Repository,
  manifest: BackupManifest,
  verification: Verification,
): Promise<VerifiedBucket[]> {
  const verified: VerifiedBucket[] = [];
  for (const [index, record] of manifest.buckets.entries()) {
    if (!verification.isWanted(record.name)) continue;
    using data = repository.data(manifest, index);
    checkFileSize(data, record);
    verified.push(await verifyBucket(data, record, verification));
  }
  return verified;
}

async function verifyBucket(
  data: DataReader,
  record: BucketRecord,
  { clock, signal }: Verification,
): Promise<VerifiedBucket> {
  const countsById = new Map<number, number>();
  const totals = { documents: 0, deletions: 0 };
  for (const [vb, vbucket] of record.vbuckets.entries()) {
    // A signal of the process, such as Ctrl-C, is received between two vbuckets.
    await nextTurn(clock);
    signal.throwIfAborted();
    const { documents, deletions } = verifyVbucket(data, vb, vbucket, countsById);
    totals.documents += documents;
    totals.deletions += deletions;
  }
  checkCollections(data, record, countsById);
  const names = new Map(record.collections.map(({ id, scope, name }) => [id, `${scope}.${name}`]));
  const collections = [...countsById].map(([id, count]) => [
    names.get(id) ?? `dropped ${id.toString(16)}`,
    count,
  ]);
  return { name: record.name, bytes: data.bytes, ...totals, collections: Object.fromEntries(collections) };
}

function checkCollections(
  data: DataReader,
  { collections }: BucketRecord,
  countsById: ReadonlyMap<number, number>,
): void {
  for (const { id, scope, name, documents } of collections) {
    const found = countsById.get(id) ?? 0;
    if (documents !== undefined && documents !== found)
      throw new BackupError(
        `${data.path}: collection ${scope}.${name} has ${found} documents; its manifest states ${documents}`,
      );
  }
}

/** The most vbuckets of a bucket in a sample. */
const sampleVbuckets = 16;

/** Reads the manifest again, and some vbuckets of each bucket. @throws BackupError that names the first damage */
export async function verifySample(
  repository: Repository,
  name: string,
  { random, clock, signal }: SampleVerification,
): Promise<void> {
  const manifest = repository.manifest(name);
  for (const [index, record] of manifest.buckets.entries()) {
    using data = repository.data(manifest, index);
    checkFileSize(data, record);
    const filled = [...record.vbuckets.keys()].filter((vb) => record.vbuckets[vb]?.last !== 0);
    for (let read = 0; read < sampleVbuckets && filled.length > 0; read++) {
      await nextTurn(clock);
      signal.throwIfAborted();
      const [vb = 0] = filled.splice(Math.floor(fraction(random) * filled.length), 1);
      verifyVbucket(data, vb, record.vbuckets[vb] as CapturedVbucket, new Map());
    }
  }
}

/** @throws BackupError unless the data file is as large as the manifest states */
export function checkFileSize(data: DataReader, record: BucketRecord): void {
  if (data.bytes === record.bytes) return;
  throw new BackupError(`${data.path} has ${data.bytes} bytes; its manifest states ${record.bytes}`);
}

function verifyVbucket(
  data: DataReader,
  vb: number,
  vbucket: CapturedVbucket,
  countsById: Map<number, number>,
): { documents: number; deletions: number } {
  const counts = { documents: 0, deletions: 0 };
  for (const frame of documentsBackwards(data, vb, vbucket)) {
    if (frame.kind === FrameKind.mutation) {
      counts.documents++;
      countsById.set(frame.collectionId, (countsById.get(frame.collectionId) ?? 0) + 1);
    } else counts.deletions++;
  }
  if (counts.documents !== vbucket.documents || counts.deletions !== vbucket.deletions)
    throw new BackupError(
      `${data.path}: vbucket ${vb} has ${counts.documents} documents and ${counts.deletions} deletions; ` +
        `its manifest states ${vbucket.documents} and ${vbucket.deletions}`,
    );
  return counts;
}
