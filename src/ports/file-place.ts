// Whether an open file is still the one at its path. Who removes a folder, or puts a copy in its place, does not stop a process
// that has its files open: what that writes would be gone with it.
import { statSync } from 'node:fs';

export class FilePlace {
  private readonly path: string;
  private readonly identity: string;

  /** Of a file that was just opened. */
  constructor(path: string) {
    this.path = path;
    this.identity = identityOf(path);
  }

  /** Throws when the file was removed, moved or replaced since. */
  check(): void {
    if (identityOf(this.path) !== this.identity)
      throw new Error(`${this.path} was removed or replaced while it was open`);
  }
}

function identityOf(path: string): string {
  const about = statSync(path, { throwIfNoEntry: false });
  return about === undefined ? 'absent' : `${about.dev}:${about.ino}`;
}
