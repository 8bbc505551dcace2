// Puts a built folder in the place of an older one. Other processes may read the folder meanwhile: it is
// missing only between two renames.
import { existsSync, renameSync, rmSync } from 'node:fs';

/** `isThere` says whether `target` has the wanted content: another process may have built the same meanwhile. */
export function replaceFolder(folder: string, target: string, isThere: () => boolean): void {
  const old = `${folder}.old`;
  if (existsSync(target)) renameSync(target, old);
  try {
    renameSync(folder, target);
  } catch (error) {
    if (!isThere()) throw error;
    rmSync(folder, { recursive: true });
  }
  rmSync(old, { recursive: true, force: true });
}
