// Puts a built folder in the place of an older one. Other processes may read the folder meanwhile: it is missing only between two renames.
import { existsSync, renameSync, rmSync } from 'node:fs';

/** Other processes may build the same: each attempt can lose to one of them. */
const attemptsMax = 100;

/** `isThere` says whether `target` has the wanted content: another process may have built the same meanwhile. */
export function replaceFolder(folder: string, target: string, isThere: () => boolean): void {
  const old = `${folder}.old`;
  for (let attempt = 1; existsSync(folder); attempt++) {
    try {
      if (existsSync(target)) renameSync(target, old);
      renameSync(folder, target);
    } catch (error) {
      // Another process has moved the old folder first, or has put its own in the place.
      if (isThere()) rmSync(folder, { recursive: true });
      else if (attempt === attemptsMax) throw error;
    }
    rmSync(old, { recursive: true, force: true });
  }
}
