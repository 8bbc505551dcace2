// Short reads of a repository without its lock: a read that held it would fail each task of another process that begins to write there
// meanwhile. A merge or a removal can change the repository during a read, which is then repeated.
import { FolderInUseError } from '#ports/folder-lock.ts';
import { BackupError } from '../format/backup-error.ts';
import { Repository } from './repository.adapter.ts';

const attemptsMax = 5;

/**
 * Returns what `read` returns in an attempt during which the complete backups did not change; if they changed during every attempt, what the
 * last one returned. @throws BackupError; with `FolderInUseError` as its cause if every attempt failed while a task writes to the repository
 */
export function readUnlocked<T>(folder: string, read: (repository: Repository) => T): T {
  for (let attempt = 1; ; attempt++) {
    const repository = Repository.open(folder);
    const before = repository.fingerprint();
    const isLast = attempt === attemptsMax;
    try {
      const result = read(repository);
      if (isLast || repository.fingerprint() === before) return result;
    } catch (error) {
      if (!isLast && repository.fingerprint() !== before) continue;
      throw inUseError(repository.path, error as Error) ?? error;
    }
  }
}

/** The error that names the task that writes to the repository, with the reason of the failed read; null if no task does. */
function inUseError(path: string, error: Error): BackupError | null {
  try {
    Repository.share(path).release();
    return null;
  } catch (inUse) {
    const { cause, message } = inUse as Error;
    if (!(cause instanceof FolderInUseError)) return null;
    return new BackupError(`${message}; try again when it has ended (${error.message})`, { cause });
  }
}

/** Whether the lock of a repository was refused, or an error of `readUnlocked` may be due to a task that writes there. */
export const isInUseError = ({ cause }: Error): boolean => cause instanceof FolderInUseError;
