// Removes vbuckets from disk and from memory: this node has them no longer, or they are rebuilt from their active. Each is removed from the disk first:
// a vbucket that is empty in memory while the disk has its rows would give new documents seqnos that the disk has already, and the removal
// would delete those documents.
import { type BucketFiles, type DiskEngine, fileOf } from '../data/disk-engine.ts';
import type { BucketParts } from './bucket-parts.ts';

/** Removing this number of rows takes some milliseconds. */
const rowsAtOnce = 2_000;

export interface DropOptions {
  parts: Pick<BucketParts, 'events' | 'flusher' | 'removals' | 'residency' | 'vbuckets'>;
  /** Null and undefined where there is no disk. */
  files: BucketFiles | null;
  disk: DiskEngine | undefined;
  /** False: the bucket stops, and its files may belong to another engine soon. */
  isServing: () => boolean;
}

/**
 * Nothing may change the vbuckets meanwhile, and none of them is active.
 * @throws Error when the disk does not remove them: the remaining ones are unchanged.
 */
export function dropVbuckets(vbs: readonly number[], options: DropOptions): Promise<void> {
  return options.parts.removals.note(vbs, remove(vbs, options));
}

async function remove(vbs: readonly number[], options: DropOptions): Promise<void> {
  const { isServing, parts } = options;
  const { events, flusher, residency, vbuckets } = parts;
  // Waits for the writes of states before the pause, since a paused flusher writes no changes that clients wait for.
  await flusher?.statesWritten();
  await flusher?.pause();
  // Waits until no cut of these vbuckets is on its way to the disk, or waits for space: it would bring their rows back.
  const written = (await flusher?.writeStates(vbs)) ?? vbs;
  if (isServing()) flusher?.resume();
  if (written.length < vbs.length) throw new Error('the disk takes no changes');
  try {
    for (const group of groupsOf(vbs, options)) {
      if (!isServing()) throw new Error('the bucket stops');
      await dropFromDisk(group, options);
      for (const vb of group) {
        vbuckets.drop(vb);
        events.discard(vb);
      }
    }
  } finally {
    residency.discardAbsent();
  }
}

/** Groups vbuckets of one file with few rows in all. Each group is removed in one transaction, since commits of the file wait for each sync. */
function groupsOf(vbs: readonly number[], { files, parts }: DropOptions): number[][] {
  const { items, tombstones } = parts.vbuckets.columns;
  const rowsOf = (vb: number): number => (items[vb] as number) + (tombstones[vb] as number);
  const groups: number[][] = [];
  let rows = 0;
  const file = (vb: number): number => fileOf(vb, files?.fileCount ?? 1);
  for (const vb of vbs.toSorted((a, b) => file(a) - file(b))) {
    const last = groups.at(-1);
    rows += rowsOf(vb);
    const continues = last !== undefined && rows <= rowsAtOnce && file(last[0] as number) === file(vb);
    if (continues) last.push(vb);
    else {
      groups.push([vb]);
      rows = rowsOf(vb);
    }
  }
  return groups;
}

async function dropFromDisk(vbs: readonly number[], { disk, files }: DropOptions): Promise<void> {
  if (disk === undefined || files === null) return;
  await disk.drop(files.bucketUuid, fileOf(vbs[0] as number, files.fileCount), vbs);
}
