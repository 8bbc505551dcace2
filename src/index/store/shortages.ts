// Failures to open or read an index file whose cause is not the file.

/** SQLITE_BUSY, NOMEM, FULL (counts need disk space for temporary files), and CANTOPEN (the process has no file descriptor left). */
const codes: ReadonlySet<number> = new Set([5, 7, 13, 14]);
/** SQLITE_IOERR_NOMEM, SHMOPEN, SHMSIZE and SHMMAP: a file that is opened gets its shared memory on the disk. */
const extendedCodes: ReadonlySet<number> = new Set([12, 18, 19, 21].map((detail) => 10 | (detail << 8)));

/** True if the file is not damaged: to build the index again would need even more of what is used up. */
export function isShortage(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  return errcode !== undefined && (codes.has(errcode & 0xff) || extendedCodes.has(errcode));
}
