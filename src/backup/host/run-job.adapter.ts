// Runs one job, with the code that the commands use too.
import { rmSync } from 'node:fs';
import { vbucketCount } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { Repository } from '../archive/repository.adapter.ts';
import { isInUseError, readUnlocked } from '../archive/unlocked-reads.adapter.ts';
import { runBackup } from '../capture/run-backup.adapter.ts';
import { BackupError } from '../format/backup-error.ts';
import type { BackupManifest } from '../format/manifest.ts';
import { type ExaminedVersion, examine } from '../inspect/examine.ts';
import { checkFileSize, verifySample } from '../inspect/verify.ts';
import { mergeInterval } from '../merge/merge-interval.ts';
import { removeBackups } from '../merge/remove-backups.adapter.ts';
import { BackupNode } from '../node/backup-node.ts';
import { bucketsWritten, runRestore } from '../restore/run-restore.adapter.ts';
import type {
  BackupJob,
  ExamineJob,
  Job,
  JobProgress,
  JobResults,
  MergeJob,
  RestoreJob,
  RestoreTargetsJob,
} from './jobs.ts';
import type { KnownCluster } from './known-cluster.ts';
import { repositoryInfo } from './repository-info.ts';

export interface JobContext {
  readonly signal: AbortSignal;
  readonly cluster: KnownCluster;
  progress(state: JobProgress): void;
}

/** The most bytes of the versions of a document in the answer to `examine`. */
const examinedBytesMax = 64 << 20;

export function runJob(job: Job, context: JobContext): Promise<unknown> {
  switch (job.kind) {
    case 'backup':
      return backup(job, context);
    case 'restore':
      return restore(job, context);
    case 'restoreTargets':
      return restoreTargets(job, context);
    case 'merge':
      return merge(job, context);
    case 'removeBackup':
      return withoutResult(() => removeBackups(job.folder, [job.backup]));
    case 'removeRepository':
      return withoutResult(() => removeRepository(job.folder));
    case 'info':
      return Promise.resolve().then(() => readUnlocked(job.folder, repositoryInfo));
    case 'check':
      return withoutResult(() => checkNewest(job.folder));
    case 'examine':
      return Promise.resolve().then(() => examined(job));
  }
}

const withoutResult = async (work: () => unknown): Promise<null> => {
  work();
  return null;
};

async function backup(
  { folder, buckets, isFull, withIndexes, node }: BackupJob,
  { signal, cluster, progress }: JobContext,
): Promise<JobResults['backup']> {
  const request = { folder, buckets, isFull, withIndexes, purges: false, replacesOther: true };
  let size = 0;
  const result = await runBackup(request, {
    node: new BackupNode(cluster.accessOf(node), signal),
    clock: realClock,
    random: realRandom,
    signal,
    progress: ({ bucket, documents, expected }) => progress({ bucket, done: documents, expected }),
    // Under the lock of the backup: a merge right after it would remove what is read.
    completed: async (repository, { name }) => {
      await verifySample(repository, name, { random: realRandom, clock: realClock, signal });
      size = repositoryInfo(repository).size;
    },
  });
  const { manifest, skippedBuckets, lacksIndexes, indexNotes, notContinued } = result;
  return {
    backup: manifest.name,
    buckets: figuresOf(manifest),
    size,
    notes: [
      ...skippedBuckets.map(
        (name) => `bucket "${name}" is left out: it is of type cache, whose documents cannot be backed up`,
      ),
      ...(lacksIndexes ? ['definitions of indexes are left out: they could not be read'] : []),
      ...indexNotes,
      ...(notContinued === null ? [] : [`earlier backups could not be continued: ${notContinued}`]),
    ],
  };
}

const figuresOf = ({ buckets }: BackupManifest) =>
  buckets.map(({ name, bytes, vbuckets: captured }) => ({
    name,
    bytes,
    documents: captured.reduce((sum, { documents }) => sum + documents, 0),
    deletions: captured.reduce((sum, { deletions }) => sum + deletions, 0),
  }));

async function restore(
  { request, node }: RestoreJob,
  { signal, cluster, progress }: JobContext,
): Promise<JobResults['restore']> {
  return await runRestore(request, {
    node: new BackupNode(cluster.accessOf(node), signal),
    clock: realClock,
    signal,
    progress: ({ bucket, documents, expected }) => progress({ bucket, done: documents, expected }),
  });
}

async function restoreTargets(
  { request, node }: RestoreTargetsJob,
  { signal }: JobContext,
): Promise<JobResults['restoreTargets']> {
  const buckets = readUnlocked(request.folder, () => bucketsWritten(request));
  return { cluster: (await new BackupNode(node, signal).identity()).cluster, buckets };
}

async function merge(
  { folder, fromMs, endMs }: MergeJob,
  { signal, progress }: JobContext,
): Promise<JobResults['merge']> {
  const merged = await mergeInterval(
    { folder, fromMs, endMs },
    {
      clock: realClock,
      random: realRandom,
      signal,
      progress: (state) => progress({ bucket: state.bucket, done: state.vbuckets, expected: vbucketCount }),
    },
  );
  if (merged === null) return null;
  const { manifest, backups } = merged;
  return { backup: manifest.name, merged: backups, size: readUnlocked(folder, repositoryInfo).size };
}

/** Removes the repository under its lock, so that no task of another node writes there. */
function removeRepository(folder: string): void {
  const { path } = Repository.open(folder);
  const lock = Repository.lock(path);
  try {
    rmSync(path, { recursive: true });
  } finally {
    lock.release();
  }
}

/**
 * @throws BackupError unless the manifest of the newest backup can be read, and its data files are as large as the manifest states. While another task
 * writes to the repository, a failed read is no sign of damage, and is ignored
 */
function checkNewest(folder: string): void {
  try {
    readUnlocked(folder, checkFiles);
  } catch (error) {
    if (!isInUseError(error as Error)) throw error;
  }
}

function checkFiles(repository: Repository): void {
  const newest = repository.complete().at(-1);
  if (newest === undefined) return;
  const manifest = repository.manifest(newest);
  for (const [index, record] of manifest.buckets.entries()) {
    using data = repository.data(manifest, index);
    checkFileSize(data, record);
  }
}

/**
 * While another task writes to the repository, such as a backup of the service, the manifest is read without the lock: only a merge or a removal changes
 * what is read. @throws BackupError that names the writer if the read failed
 */
function examined({ folder, key }: ExamineJob): ExaminedVersion[] {
  const repository = Repository.open(folder);
  let lock: ReturnType<typeof Repository.share>;
  try {
    lock = Repository.share(repository.path);
  } catch (inUse) {
    return examinedWithoutLock(inUse as Error, repository, key);
  }
  try {
    return versionsOf(repository, key);
  } finally {
    lock.release();
  }
}

function examinedWithoutLock(
  inUse: Error,
  repository: Repository,
  key: ExamineJob['key'],
): ExaminedVersion[] {
  try {
    return versionsOf(repository, key);
  } catch (error) {
    const reason = (error as Error).message;
    throw new BackupError(`${inUse.message}; try again when it has ended (${reason})`, { cause: error });
  }
}

function versionsOf(repository: Repository, key: ExamineJob['key']): ExaminedVersion[] {
  const versions: ExaminedVersion[] = [];
  let bytes = 0;
  for (const version of examine(repository, key)) {
    bytes += version.value.length;
    if (bytes > examinedBytesMax)
      throw new BackupError(`the versions of this document have more than ${examinedBytesMax} bytes`);
    versions.push(version);
  }
  return versions;
}
