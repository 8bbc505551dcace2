// Files readable by their owner only, independent of the mode of their folder and of the umask.
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncPath } from './sync-path.ts';

const ownerOnly = 0o600;
const groupAndOthers = 0o077;

/**
 * Creates the file if it is absent; restricts one that an earlier version created. Does not open an existing file:
 * closing it would free the locks that this process holds on it.
 */
export function keepPrivate(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) closeSync(openSync(path, 'ax', ownerOnly));
  else if ((found.mode & groupAndOthers) !== 0) chmodSync(path, found.mode & 0o700);
}

/** Replaces the file: its path has the earlier content or, complete and on disk, the new one. */
export function writePrivate(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w', ownerOnly);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  syncPath(dirname(path));
}
