// Detects that an open file is no longer the one at its path. Removing or replacing a folder does not stop a process that has
// its files open, and everything written to them afterwards would be lost.
import { statSync } from 'node:fs';

/** A file that was open at its path. */
export interface OpenPlace {
  readonly path: string;
  /** Device and inode of the file. */
  readonly identity: string;
}

export class FilePlace implements OpenPlace {
  readonly path: string;
  readonly identity: string;

  /** Stores the identity of a file that was just opened, here or by another thread. */
  constructor(path: string, identity = identityOf(path)) {
    this.path = path;
    this.identity = identity;
  }

  /** Throws if the file has been removed, moved or replaced since. */
  check(): void {
    if (identityOf(this.path) !== this.identity)
      throw new Error(`${this.path} was removed or replaced while it was open`);
  }
}

function identityOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? 'absent' : `${stats.dev}:${stats.ino}`;
}
