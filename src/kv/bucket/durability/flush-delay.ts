// How long the changes of a file wait for more before they are written, when no client waits for the disk.
import { batchBytesMax, firstBatchBytes } from './batch-size.ts';
import type { FileState } from './file-state.ts';

/** Delay for collecting more changes of the same keys. */
export const delayMs = { low: 20, high: 5 } as const;
/**
 * The delay is repeated this often while there is less than a batch: many changes of one vbucket cost little more on disk than
 * one, and a key that was changed again is written once.
 */
const delaysMax = { low: 4, high: 1 } as const;
/**
 * Under load it is repeated longer, also with more than a batch: most changes of keys that are dirty already arrive then, and each
 * commit writes the same rows. So many changes of a file in one delay are load.
 */
const loadedDelaysMax = { low: 25, high: 1 } as const;
const loadedChanges = 64;
/**
 * Under load the changes that the memory of another node has, too, are written by each fourth flush: with the time more of them are of
 * keys that changed again.
 */
const flushesWithoutCopiesMax = 3;
/** And while dirty items, which cannot be evicted, take less than this share of the free memory. */
const waitingShare = 1 / 8;

/** Dirty items of a file; `ofRoom`: as a share of the free memory, if every file had as many. */
export interface DirtyBytes {
  readonly bytes: number;
  readonly ofRoom: number;
}

interface DelayedFile {
  readonly batchBytes: number;
  /** How often the delay was repeated. */
  readonly lingers: number;
  /** When the delay ended last, the file was under load. */
  readonly isLoaded: boolean;
}

export const isLoad = (changes: number): boolean => changes >= loadedChanges;

/** Whether the changes wait for another delay. */
export function mayDelayAgain(file: DelayedFile, priority: keyof typeof delayMs, dirty: DirtyBytes): boolean {
  const { batchBytes, isLoaded, lingers } = file;
  if (lingers >= (isLoaded ? loadedDelaysMax : delaysMax)[priority] || dirty.ofRoom >= waitingShare)
    return false;
  return dirty.bytes < (isLoaded ? batchBytesMax : Math.max(batchBytes, firstBatchBytes));
}

/** Whether a flush that is due leaves the changes that other nodes have to a later one. */
export function mayLeaveCopies(
  { flushesWithoutCopies, isLoaded }: Pick<FileState, 'flushesWithoutCopies' | 'isLoaded'>,
  { bytes, ofRoom }: DirtyBytes,
): boolean {
  if (!isLoaded || flushesWithoutCopies >= flushesWithoutCopiesMax) return false;
  return bytes < batchBytesMax && ofRoom < waitingShare;
}

/** Whether the next batch is written without a delay. Under load more than that waits, as above. */
export function hasBatch({ batchBytes, isLoaded }: DelayedFile, { bytes, ofRoom }: DirtyBytes): boolean {
  if (!isLoaded) return bytes >= batchBytes;
  return bytes >= batchBytesMax || (bytes >= batchBytes && ofRoom >= waitingShare);
}
