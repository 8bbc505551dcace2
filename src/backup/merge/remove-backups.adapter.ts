// Removes backups of a repository that no other backup continues.

import { diskProblem } from '../archive/archive-file.adapter.ts';
import { finishMerge } from '../archive/merge-intent.adapter.ts';
import { Repository } from '../archive/repository.adapter.ts';
import { BackupError } from '../format/backup-error.ts';

/**
 * Returns the removed names, the newest first. @throws BackupError before anything is removed, if a name is unknown or a backup that stays
 * continues it; also for a problem of the disk, after which some may be removed
 */
export function removeBackups(folder: string, names: readonly string[], passphrase?: string): string[] {
  const repository = Repository.open(folder, passphrase);
  const lock = Repository.lock(repository.path);
  try {
    finishMerge(repository);
    checkRemovable(repository, new Set(names));
    // The newest first: after a crash in between, each backup that remains still has the one that it continues.
    const removed = [...new Set(names)].sort().reverse();
    for (const name of removed) repository.remove(name);
    return removed;
  } catch (error) {
    throw diskProblem(error as Error, repository.path);
  } finally {
    lock.release();
  }
}

function checkRemovable(repository: Repository, names: ReadonlySet<string>): void {
  const complete = repository.complete();
  const partial = repository.partial();
  for (const name of names)
    if (!complete.includes(name) && !partial.includes(name))
      throw new BackupError(
        `${repository.path} has no backup "${name}"; it has ${[...complete, ...partial].join(', ') || 'none'}`,
      );
  const kept = complete.filter((name) => !names.has(name)).map((name) => repository.manifest(name));
  const interrupted = partial.filter((name) => !names.has(name)).map((name) => repository.readPartial(name));
  for (const backup of [...kept, ...interrupted])
    if (backup !== null && backup.after !== null && names.has(backup.after.name))
      throw new BackupError(
        `backup ${backup.name} continues ${backup.after.name}: remove both, or merge them first`,
      );
}
