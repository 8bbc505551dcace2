// Removes vbuckets from memory and from disk: this node has them no longer, or they are rebuilt from their active.
import { type BucketFiles, type DiskEngine, fileOf } from '../data/disk-engine.ts';
import type { BucketParts } from './bucket-parts.ts';

export interface DropOptions {
  parts: Pick<BucketParts, 'events' | 'flusher' | 'residency' | 'vbuckets'>;
  /** Null and undefined where there is no disk. */
  files: BucketFiles | null;
  disk: DiskEngine | undefined;
  /** Lets the flusher continue. */
  resume: () => void;
}

/** @throws Error when the disk does not take it. */
export async function dropVbuckets(rows: readonly number[], options: DropOptions): Promise<void> {
  const { disk, files, parts, resume } = options;
  const { events, flusher, residency, vbuckets } = parts;
  await flusher?.pause();
  // Then nothing of them is on its way to the disk.
  if (flusher?.isStuck !== true) await flusher?.writeStates(rows);
  if (flusher?.isStuck === true) {
    resume();
    throw new Error('the disk takes no changes');
  }
  for (const row of rows) {
    vbuckets.drop(row);
    events.discard(row);
  }
  residency.discardAbsent();
  resume();
  if (disk === undefined || files === null) return;
  for (const row of rows) await disk.drop(files.bucketUuid, fileOf(row, files.fileCount), row);
}
