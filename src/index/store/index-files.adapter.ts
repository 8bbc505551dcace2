// Which index files a node has on disk, found without opening them.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Ids of buckets and indexes. */
export const namePattern = /^[0-9a-f]{1,32}$/;
const partPattern = /^([0-9a-f]{1,32})\.index(?:-wal|-shm|-journal)?$/;

export function indexFilesIn(folder: string): { bucketUuid: string; indexId: string }[] {
  return foldersIn(folder).flatMap((bucketUuid) => {
    const names = filesIn(join(folder, bucketUuid));
    // Includes files of which an interrupted removal left only a log or journal.
    const ids = new Set(names.flatMap((name) => partPattern.exec(name)?.[1] ?? []));
    return [...ids].map((indexId) => ({ bucketUuid, indexId }));
  });
}

/** False also if the folder cannot be read: the index thread reports why once it needs the folder. */
export function hasIndexFiles(folder: string): boolean {
  try {
    return indexFilesIn(folder).length > 0;
  } catch {
    return false;
  }
}

const foldersIn = (folder: string): string[] =>
  entriesIn(folder)
    .filter((entry) => entry.isDirectory() && namePattern.test(entry.name))
    .map(({ name }) => name);

const filesIn = (folder: string): string[] =>
  entriesIn(folder)
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

function entriesIn(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
