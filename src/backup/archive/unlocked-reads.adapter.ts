// Reads of a repository without its lock. With the lock, each of these short reads would make a task of another process fail that is about
// to write there. Only a merge or a removal changes what is read: what failed, or was changed while it was read, is read again.
import { FolderInUseError } from '#ports/folder-lock.ts';
import { ArchiveError } from '../format/archive-error.ts';
import { Repository } from './repository.adapter.ts';

const attemptsMax = 5;

/**
 * Returns what `read` returns for one state of the complete backups. @throws ArchiveError; where it fails again and again while a task writes
 * there, with `FolderInUseError` as its cause
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

/** The error that names the task that writes there, with the reason of the failed read; null if none does. */
function inUseError(path: string, error: Error): ArchiveError | null {
  try {
    Repository.share(path).release();
    return null;
  } catch (inUse) {
    const { cause, message } = inUse as Error;
    if (!(cause instanceof FolderInUseError)) return null;
    return new ArchiveError(`${message}; try again when it has ended (${error.message})`, { cause });
  }
}

/** Whether an error of `readUnlocked` may be due to the task that writes there. */
export const isInUse = ({ cause }: Error): boolean => cause instanceof FolderInUseError;
