// Counts the commits of a database file in a small file beside it. The count is written after each commit, without a sync:
// a crash of the process loses no count, a power cut at most the last ones. If a database holds fewer commits than
// the count says, its log, or the end of the log, was lost after the commits were acknowledged.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';

export const counterSuffix = '-commits';

/** The count has a constant length, so that a new one needs no space on a full disk. */
const line = (commits: number): string => {
  const digits = String(commits).padStart(16, '0');
  return `${digits} ${crc32(digits).toString(16).padStart(8, '0')}\n`;
};

export class CommitCounter {
  private readonly descriptor: number;

  /** Starts at the number of commits in the database. */
  constructor(databasePath: string, commits: number) {
    this.descriptor = openSync(
      databasePath + counterSuffix,
      existsSync(databasePath + counterSuffix) ? 'r+' : 'w',
      0o600,
    );
    this.count(commits);
    try {
      fsyncSync(this.descriptor);
    } catch {
      // The count only detects lost commits; failing to write it loses nothing.
    }
  }

  /** Writes the new count. Called after the commit is on disk. */
  count(commits: number): void {
    try {
      writeSync(this.descriptor, line(commits), 0);
    } catch {
      // As above: the count stays lower than the number of commits in the database, which `checkCommits` does not take for damage.
    }
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

export interface FoundCommits {
  /** Commits in the database, including its write-ahead log. */
  commits: number;
  /** Whether the database has its mark of an open file: the last process that opened it did not close it. */
  isInUse: boolean;
  /** Whether there was a log before the database was opened: opening creates one. */
  hadWal: boolean;
}

/**
 * Throws when the database lacks commits, or may lack some. Where other processes may commit meanwhile, the caller
 * reads the count before the database.
 */
export function checkCommits(
  databasePath: string,
  { commits, isInUse, hadWal }: FoundCommits,
  counted = countedCommits(databasePath),
): void {
  if (counted !== null && counted > commits)
    throw new Error(
      `the last ${counted - commits} of its ${counted} commits are missing: its write-ahead log was lost or cut short, or an older copy of the file was put in its place`,
    );
  if (isInUse && !hadWal && counted !== commits)
    throw new Error('its write-ahead log is missing, though the file was in use');
}

/** The count in the file; null if there is none, or a damaged one. */
export function countedCommits(databasePath: string): number | null {
  const path = databasePath + counterSuffix;
  if (!existsSync(path)) return null;
  const text = readFileSync(path, 'latin1');
  const commits = Number(text.slice(0, 16));
  return Number.isSafeInteger(commits) && text === line(commits) ? commits : null;
}

export const hasWal = (databasePath: string): boolean => existsSync(`${databasePath}-wal`);

/**
 * Reads a database without changing it: closing a connection that may write would checkpoint the log, and opening one would create
 * a log.
 */
export function readOnly<T>(path: string, look: (database: DatabaseSync) => T): T {
  const location = pathToFileURL(path);
  if (!hasWal(path)) location.searchParams.set('immutable', '1');
  const database = new DatabaseSync(location, { readOnly: true });
  try {
    return look(database);
  } finally {
    database.close();
  }
}
