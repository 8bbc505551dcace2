// How many commits a database file has had, in a small file beside it. It is written after each commit, without a sync of its own:
// the end of the process loses none of it, a power cut at most the last counts. A database that holds fewer commits than were
// counted lost its log, or the end of it, after they were acknowledged.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';

export const counterSuffix = '-commits';

/** As long for each count, so that it takes no space on a full disk. */
const line = (commits: number): string => {
  const digits = String(commits).padStart(16, '0');
  return `${digits} ${crc32(digits).toString(16).padStart(8, '0')}\n`;
};

export class CommitCounter {
  private readonly descriptor: number;

  /** Begins with what the database holds. */
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
      // The count only helps to find a loss: what it is of is on disk by itself.
    }
  }

  /** After the commit is on disk. */
  count(commits: number): void {
    try {
      writeSync(this.descriptor, line(commits), 0);
    } catch {
      // As above. A count that is behind is no sign of damage.
    }
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

export interface FoundCommits {
  /** In the database, with what its log adds. */
  commits: number;
  /** The database was not closed cleanly. */
  isInUse: boolean;
  /** Whether there was a log before the database was opened, which makes one. */
  hadLog: boolean;
}

/**
 * Throws when the database lacks commits, or nobody can tell whether it does. Where other processes may commit meanwhile, the caller
 * reads the count before it looks into the database.
 */
export function checkCommits(
  databasePath: string,
  { commits, isInUse, hadLog }: FoundCommits,
  counted = countedCommits(databasePath),
): void {
  if (counted !== null && counted > commits)
    throw new Error(
      `the last ${counted - commits} of its ${counted} commits are missing: its write-ahead log was lost or cut short, or an older copy of the file was put in its place`,
    );
  if (isInUse && !hadLog && counted !== commits)
    throw new Error('its write-ahead log is missing, though the file was in use');
}

/** Null when there is none that can be trusted. */
export function countedCommits(databasePath: string): number | null {
  const path = databasePath + counterSuffix;
  if (!existsSync(path)) return null;
  const text = readFileSync(path, 'latin1');
  const commits = Number(text.slice(0, 16));
  return Number.isSafeInteger(commits) && text === line(commits) ? commits : null;
}

export const hasLog = (databasePath: string): boolean => existsSync(`${databasePath}-wal`);

/**
 * Reads a database and leaves it as it is: a connection that may write would copy its log into it in the end, and make one where it
 * has none.
 */
export function lookInto<T>(path: string, look: (database: DatabaseSync) => T): T {
  const location = pathToFileURL(path);
  if (!hasLog(path)) location.searchParams.set('immutable', '1');
  const database = new DatabaseSync(location, { readOnly: true });
  try {
    return look(database);
  } finally {
    database.close();
  }
}
