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
 * commit writes the same rows.
 */
const loadedDelaysMax = { low: 25, high: 1 } as const;
/** As long as requests wait for the disk because of a handover, or soon will, the delay is repeated this often. */
const handoverDelaysMax = 25;
/** A file is under load from this many changes in one delay on. `replicated`: from this load on, changes that another node has in memory, too, are deferred. */
const loads = { own: 64, replicated: 4 } as const;
/**
 * How old the first deferred change of a file gets under load. With low priority such changes are written every two seconds, because the longer they
 * wait, the more of their keys change again: the limit is a little below two seconds, so that the flush that runs then writes them.
 */
const deferralMs = { low: 1_900, high: 15 } as const;
/** Changes wait longer only while dirty items, which cannot be evicted, take less than this share of the free memory. */
const waitingShare = 1 / 8;

/**
 * Dirty items of a file. `due`: without the deferred ones; `ofRoom`: the share of the free memory that dirty items would take if every file had as
 * many.
 */
export interface DirtyBytes {
  readonly bytes: number;
  readonly due: number;
  readonly ofRoom: number;
}

interface DelayedFile {
  readonly batchBytes: number;
  /** How often the delay was repeated. */
  readonly delays: number;
  /** When the delay ended last, the file was under load. */
  readonly isLoaded: boolean;
}

/** The load of a file after a delay in which it had `changes` changes. Each pause halves it: clients that wait for a processor come in bursts. */
export const loadAfter = (load: number, changes: number): number => Math.max(load / 2, changes);

export const isUnderLoad = (load: number): boolean => load >= loads.own;

/** Whether the changes wait for another delay. */
export function mayDelayAgain(file: DelayedFile, priority: keyof typeof delayMs, dirty: DirtyBytes): boolean {
  const { batchBytes, isLoaded, delays } = file;
  if (delays >= (isLoaded ? loadedDelaysMax : delaysMax)[priority] || dirty.ofRoom >= waitingShare)
    return false;
  return dirty.bytes < batchBytesMax && (isLoaded || dirty.due < Math.max(batchBytes, firstBatchBytes));
}

/**
 * Whether the changes, even a whole batch, wait for another delay while requests wait for the disk or soon will: this node is about to
 * write the epoch of a shard.
 */
export const mayWaitForHandover = (
  { delays }: Pick<DelayedFile, 'delays'>,
  { ofRoom }: DirtyBytes,
): boolean => delays < handoverDelaysMax && ofRoom < waitingShare;

/** Whether the changes have waited as long as they may: all of them are written now, although requests wait for the disk. */
export const hasWaitedForHandover = ({ delays }: Pick<DelayedFile, 'delays'>): boolean =>
  delays >= handoverDelaysMax;

/** Whether a flush that is due defers the changes that other nodes have in memory, too, to a later flush. The oldest of them are `ageMs` old. */
export function mayDeferReplicated(
  { load, ageMs, priority }: { load: number; ageMs: number; priority: keyof typeof delayMs },
  { bytes, ofRoom }: DirtyBytes,
): boolean {
  return (
    load >= loads.replicated && ageMs < deferralMs[priority] && bytes < batchBytesMax && ofRoom < waitingShare
  );
}

/** Whether the next batch is written without a delay. Under load a larger batch waits, too: each commit writes the same rows. */
export function hasBatch(
  { batchBytes, isLoaded, defersReplicated }: Pick<FileState, 'batchBytes' | 'isLoaded' | 'defersReplicated'>,
  { bytes, ofRoom }: DirtyBytes,
): boolean {
  if (!isLoaded && !defersReplicated) return bytes >= batchBytes;
  return bytes >= batchBytesMax || (bytes >= batchBytes && ofRoom >= waitingShare);
}
