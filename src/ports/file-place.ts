// Detects that an open file is no longer the one at its path. Removing or replacing a folder does not stop a process that has
// its files open, and everything written to them afterwards would be lost.
import { statSync } from 'node:fs';

export class FilePlace {
  private readonly path: string;
  private readonly identity: string;

  /** Remembers the identity of a file that was just opened. */
  constructor(path: string) {
    this.path = path;
    this.identity = identityOf(path);
  }

  /** Throws if the file has been removed, moved or replaced since. */
  check(): void {
    if (identityOf(this.path) !== this.identity)
      throw new Error(`${this.path} was removed or replaced while it was open`);
  }
}

function identityOf(path: string): string {
  const about = statSync(path, { throwIfNoEntry: false });
  return about === undefined ? 'absent' : `${about.dev}:${about.ino}`;
}
