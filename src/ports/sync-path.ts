import { closeSync, fsyncSync, openSync } from 'node:fs';

/** The file is on disk afterwards; of a folder: what was created, renamed and removed in it. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
