// A folder is used by one process, or by several that only read it. Node has no flock, but SQLite holds a lock on its file that the
// system frees when the process ends, however it ends.
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FilePlace } from './file-place.ts';
import { keepPrivate } from './private-file.ts';

export interface FolderLock {
  /** The lock file; `check` throws if the lock file was removed or replaced: another process may have locked the folder as well. */
  readonly place: FilePlace;
  release(): void;
}

/** Another process has the folder. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError';
  readonly folder: string;
  /** Null if the holder has not written its process id yet. */
  readonly pid: number | null;
  /** The holder only reads the folder. */
  readonly isShared: boolean;

  constructor(folder: string, { pid, isShared }: { pid: number | null; isShared: boolean }) {
    super(`the data folder ${folder} is in use by ${pid === null ? 'another process' : `process ${pid}`}`);
    this.folder = folder;
    this.pid = pid;
    this.isShared = isShared;
  }
}

/** The files of locks in a folder. */
export const isLockFile = (name: string): boolean => /^lock\.(db|db-journal|(\d+\.)?pid)$/.test(name);

/** Creates the folder if needed and locks it until `release` or the end of the process. Throws FolderInUseError. */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true });
  const db = openLock(join(folder, 'lock.db'));
  // The id of the process is in a file of its own, since other processes cannot read lock.db. This process never opens lock.db a second
  // time: closing another descriptor of the file would free the lock.
  const pidPath = join(folder, 'lock.pid');
  try {
    // Without a journal file the lock needs no space, so that backups can be removed from a full disk.
    db.exec('pragma journal_mode = memory; begin exclusive');
  } catch (error) {
    const isShared = isBusy(error) && holdsShared(db);
    db.close();
    if (!isBusy(error)) throw lockError(error);
    const pid = isShared ? (readersOf(folder).find(processExists) ?? null) : readPid(pidPath);
    throw new FolderInUseError(folder, { pid, isShared });
  }
  // Readers that were killed left their files.
  for (const pid of readersOf(folder)) rmSync(readerPath(folder, pid), { force: true });
  writeAnew(pidPath, `${process.pid}\n`);
  return {
    place: new FilePlace(join(folder, 'lock.db')),
    release() {
      rmSync(pidPath, { force: true });
      db.close();
    },
  };
}

/**
 * Keeps others from locking the folder, until `release` or the end of the process; others may share it. A folder that this process cannot
 * write to is not locked. @throws FolderInUseError
 */
export function shareFolder(folder: string): Pick<FolderLock, 'release'> {
  if (!isWritable(folder)) return { release: () => {} };
  const db = openLock(join(folder, 'lock.db'));
  if (!holdsShared(db)) {
    db.close();
    throw new FolderInUseError(folder, { pid: readPid(join(folder, 'lock.pid')), isShared: false });
  }
  const path = readerPath(folder, process.pid);
  writeAnew(path, '');
  return {
    release() {
      rmSync(path, { force: true });
      db.close();
    },
  };
}

/** Takes the lock of readers; false if a writer has the folder. */
function holdsShared(db: DatabaseSync): boolean {
  try {
    // SQLite locks the file with the first read of the transaction.
    db.exec('begin; select count(*) from sqlite_schema');
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw lockError(error);
  }
}

const readerPath = (folder: string, pid: number): string => join(folder, `lock.${pid}.pid`);

function readersOf(folder: string): number[] {
  const pids = readdirSync(folder).map((name) => /^lock\.(\d+)\.pid$/.exec(name)?.[1]);
  return pids.filter((pid) => pid !== undefined).map(Number);
}

/**
 * The id of the process that has locked the folder; null if none has. The id that a killed process left may be that of an unrelated process after
 * a restart of the machine, so that the lock decides.
 */
export function holderOf(folder: string): number | null {
  try {
    const pid = readPid(join(folder, 'lock.pid'));
    return pid !== null && pid > 0 && processExists(pid) && isLocked(folder) ? pid : null;
  } catch {
    return null;
  }
}

/** True also if this process cannot open the lock file. */
function isLocked(folder: string): boolean {
  const path = join(folder, 'lock.db');
  if (!existsSync(path)) return false;
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    const isFree = holdsShared(db);
    db.close();
    return !isFree;
  } catch {
    return true;
  }
}

/** EPERM: it is a process of another user. */
function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Writes a new file in place of an existing one, which may be a symbolic link to another file. */
function writeAnew(path: string, text: string): void {
  rmSync(path, { force: true });
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    // On a full disk the process id is not stored, so errors of other processes cannot name this process. The folder is locked all the same.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

function openLock(path: string): DatabaseSync {
  try {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new Error('it is a symbolic link');
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
