import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Flushes the file to disk; for a folder, its entries: files that were created, renamed or removed in it. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
