// Files readable by their owner only, independent of the mode of their folder and of the umask.
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

const ownerOnly = 0o600;
const others = 0o077;

/**
 * Creates the file if it is absent; restricts one that an earlier version created. Does not open an existing file:
 * closing it would free the locks that this process holds on it.
 */
export function keepPrivate(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) closeSync(openSync(path, 'ax', ownerOnly));
  else if ((found.mode & others) !== 0) chmodSync(path, found.mode & 0o700);
}
