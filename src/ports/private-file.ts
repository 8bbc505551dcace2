// Files that nobody but their owner may read, whatever the mode of their folder and the umask say.
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

const ownerOnly = 0o600;
const others = 0o077;

/**
 * Makes the file if it is absent; takes the rights of others from one that earlier versions made. Opens no file that is there:
 * closing it again would free the locks that this process holds on it.
 */
export function keepPrivate(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) closeSync(openSync(path, 'ax', ownerOnly));
  else if ((found.mode & others) !== 0) chmodSync(path, found.mode & 0o700);
}
