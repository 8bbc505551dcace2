// One process per data folder. Node has no flock, but SQLite holds a lock on its file that the system frees when the
// process ends, however it ends.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FilePlace } from './file-place.ts';
import { keepPrivate } from './private-file.ts';

export interface FolderLock {
  /** Its `check` throws if the lock file was removed or replaced: another process may have locked the folder as well. */
  readonly place: FilePlace;
  release(): void;
}

/** Another process has the folder. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
  readonly folder: string;
  /** Null if the holder has not written its process id yet. */
  readonly pid: number | null;

  constructor(folder: string, pid: number | null) {
    super(`the data folder ${folder} is in use by ${pid === null ? 'another process' : `process ${pid}`}`);
    this.folder = folder;
    this.pid = pid;
  }
}

/** Creates the folder if needed and locks it until `release` or the end of the process. Throws FolderInUseError. */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true });
  const db = openLock(join(folder, 'lock.db'));
  // A separate file, since other processes cannot read the locked one. That one is never opened again here: closing any other
  // descriptor of the locked file would free the lock.
  const pidPath = join(folder, 'lock.pid');
  try {
    db.exec('begin exclusive');
  } catch (error) {
    db.close();
    throw isBusy(error) ? new FolderInUseError(folder, readPid(pidPath)) : lockError(error);
  }
  keepPrivate(pidPath);
  writeFileSync(pidPath, `${process.pid}\n`);
  return {
    place: new FilePlace(join(folder, 'lock.db')),
    release() {
      rmSync(pidPath, { force: true });
      db.close();
    },
  };
}

function openLock(path: string): DatabaseSync {
  try {
    keepPrivate(path);
    return new DatabaseSync(path);
  } catch (error) {
    throw lockError(error);
  }
}

const lockError = (error: unknown): Error =>
  new Error(`lock.db: ${(error as Error).message}`, { cause: error });

const sqliteBusy = 5;
const isBusy = (error: unknown): boolean =>
  ((error as { errcode?: number }).errcode ?? 0) % 256 === sqliteBusy;

function readPid(path: string): number | null {
  try {
    return Number.parseInt(readFileSync(path, 'utf8'), 10) || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
