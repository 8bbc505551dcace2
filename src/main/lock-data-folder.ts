// Locks the data folder for one process; the start of a second one fails with a one-line error.
import { FolderInUseError, type FolderLock, lockFolder } from '#ports/folder-lock.ts';
import { StartError } from './start-error.ts';

/** Keep a reference to the result: garbage collection would free the lock. */
export function lockDataFolder(path: string): FolderLock {
  try {
    return lockFolder(path);
  } catch (error) {
    if (error instanceof FolderInUseError) throw new StartError(error.message, { cause: error });
    throw new StartError(`cannot lock the data folder ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
