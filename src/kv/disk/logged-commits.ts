// Knows which files have commits that may be only in the log of cuts, which other lanes do not read, and has that log written into rows before
// a read.

/**
 * How many urgent commits become rows at once after a read had to wait for the log of cuts: where durable writes and reads of the disk
 * alternate, the log would only add its own sync to that of the rows.
 */
const unloggedAfterRead = 8;

export class LoggedCommits {
  private readonly writeLog: (bucketUuid: string, file: number) => Promise<void>;
  /** By file with logged commits, the call that writes its log into rows. */
  private readonly writing = new Map<string, Promise<void> | null>();
  /** By file, how many of the next urgent commits are written into rows at once, since a read had to wait until the log of cuts was in rows. */
  private readonly unloggedLeft = new Map<string, number>();

  constructor(writeLog: (bucketUuid: string, file: number) => Promise<void>) {
    this.writeLog = writeLog;
  }

  /** Whether this urgent commit goes to the log of cuts: not where commits of the file alternate with reads of the disk. */
  admit(bucketUuid: string, file: number): boolean {
    const key = keyOf(bucketUuid, file);
    const left = this.unloggedLeft.get(key) ?? 0;
    if (left > 1) this.unloggedLeft.set(key, left - 1);
    else this.unloggedLeft.delete(key);
    if (left > 0) return false;
    this.writing.set(key, null);
    return true;
  }

  /** Writes the log of cuts into rows, so that other lanes can read the commits so far. */
  async writeIntoRows(bucketUuid: string, file: number): Promise<void> {
    const key = keyOf(bucketUuid, file);
    const present = this.writing.get(key);
    if (present === undefined) return;
    this.unloggedLeft.set(key, unloggedAfterRead);
    const writing = present ?? this.writeLog(bucketUuid, file);
    this.writing.set(key, writing);
    try {
      await writing;
      if (this.writing.get(key) === writing) this.writing.delete(key);
    } catch (error) {
      if (this.writing.get(key) === writing) this.writing.set(key, null);
      throw error;
    }
  }

  forget(bucketUuid: string, file: number): void {
    this.writing.delete(keyOf(bucketUuid, file));
    this.unloggedLeft.delete(keyOf(bucketUuid, file));
  }
}

const keyOf = (bucketUuid: string, file: number): string => `${bucketUuid}/${file}`;
