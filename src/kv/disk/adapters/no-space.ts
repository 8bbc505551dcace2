// Recognizes a disk without space.
import { statfsSync, statSync } from 'node:fs';

/** For the write-ahead log and its index, in addition to the growth of the file. */
const spareBytes = 128 * 1024;

/** SQLITE_FULL, and SQLITE_IOERR_SHMSIZE: no space to enlarge the index of the write-ahead log. Neither follows a failed fsync. */
export const isSqliteFull = (error: unknown): boolean =>
  [13, 4874].includes((error as { errcode?: number } | null)?.errcode ?? 0);

/** Whether SQLite or the file system found no space. */
export const lacksSpace = (error: unknown): boolean =>
  isSqliteFull(error) || ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | null)?.code ?? '');

/** Throws, with the code of a full disk, unless the file can grow to this size. A checkpoint that failed later would have used up the free space. */
export function checkSpace(path: string, bytes: number): void {
  const growth = bytes - statSync(path).size;
  if (growth <= 0) return;
  const { bfree, bsize } = statfsSync(path);
  if (bfree * bsize >= growth + spareBytes) return;
  const needed = Math.ceil((growth + spareBytes) / 1024);
  const error = new Error(`${needed} KiB are needed, ${Math.floor((bfree * bsize) / 1024)} KiB are free`);
  throw Object.assign(error, { code: 'ENOSPC' });
}
