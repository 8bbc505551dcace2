/** SQLITE_FULL, and SQLITE_IOERR_SHMSIZE: no space to enlarge the WAL index. */
export const isDiskFull = (error: unknown): boolean =>
  [13, 4874].includes((error as { errcode?: number } | null)?.errcode ?? 0);
