// Writes files of the data folder.
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The file gets its name once it is complete, on disk and readable by its owner only. */
export function writePrivate(path: string, bytes: Uint8Array): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w', 0o600);
  writeFileSync(file, bytes);
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, path);
  syncFolder(dirname(path));
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
