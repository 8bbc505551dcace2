// Flushes the target buckets of a restore, all of them before the first document is written.
import { BackupError } from '../format/backup-error.ts';
import type { BackupNode } from '../node/backup-node.ts';
import { missingBucket } from './definitions.ts';
import type { RestoreRecord } from './restore-record.adapter.ts';

export interface FlushOptions {
  readonly node: BackupNode;
  readonly record: RestoreRecord;
  readonly signal: AbortSignal;
  /** Flushes all target buckets. */
  readonly replaces: boolean;
  /** Flushes only the buckets that the interrupted restore had not flushed yet. */
  readonly resumes: boolean;
  /** Missing buckets are created later. */
  readonly createsBuckets: boolean;
  /** Called before the first flush. @throws BackupError for a backup that cannot be restored */
  check(): void;
}

/**
 * Records the restore, then flushes those of the buckets with these names that need a flush. False if the record could not be written.
 * @throws BackupError; before the first flush if one of the buckets cannot be flushed, or nothing is to be resumed
 */
export async function flushTargets(names: ReadonlySet<string>, options: FlushOptions): Promise<boolean> {
  const { record, replaces, resumes } = options;
  if (resumes) record.checkResumable();
  const pending = resumes ? record.pending() : earlierPending(record);
  const others = pending.filter((name) => !names.has(name));
  const toFlush = resumes ? pending.filter((name) => names.has(name)) : replaces ? [...names] : [];
  // Before anything else: a restore that is killed before its first flush must not be resumed without one. A restore that neither replaces
  // nor resumes removes these buckets from those that an earlier restore had not flushed yet.
  const isRecorded = record.write([...others, ...toFlush]);
  const present = await flushable(toFlush, options);
  if (present.length > 0) {
    options.check();
    await flushAll(present, others, options);
  }
  // All flushes are done, and buckets that no longer exist need none.
  return record.write(others) && isRecorded;
}

/** The buckets that an earlier restore had not flushed yet. None if its record is damaged: a new restore then replaces the record. */
function earlierPending(record: RestoreRecord): readonly string[] {
  try {
    return record.pending();
  } catch (error) {
    if (error instanceof BackupError) return [];
    throw error;
  }
}

async function flushable(
  toFlush: readonly string[],
  { node, createsBuckets }: FlushOptions,
): Promise<string[]> {
  const present: string[] = [];
  for (const name of toFlush) {
    const bucket = await node.bucket(name);
    if (bucket === null && !createsBuckets) throw missingBucket(name);
    if (bucket === null) continue;
    if (bucket.settings['flushEnabled'] !== 1)
      throw new BackupError(
        `--replace: flush is not enabled for bucket "${name}": set its parameter flushEnabled to 1, or delete the bucket first`,
      );
    present.push(name);
  }
  return present;
}

/**
 * A bucket stays in the record until its flush was answered, so a resumed restore flushes it again. No bucket has documents of the backup
 * before all flushes are done.
 */
async function flushAll(
  names: readonly string[],
  others: readonly string[],
  { node, record, signal }: FlushOptions,
): Promise<void> {
  let flushed = 0;
  let isRecorded = true;
  try {
    for (const name of names) {
      isRecorded = record.write([...others, ...names.slice(flushed)]);
      signal.throwIfAborted();
      await node.flush(name);
      flushed++;
    }
  } catch (error) {
    const progress = `${flushed} of ${names.length} buckets were flushed`;
    const next = isRecorded ? '--resume continues' : 'repeat the command';
    throw new BackupError(`${(error as Error).message} (${progress}; ${next})`, { cause: error });
  }
}
