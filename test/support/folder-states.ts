// Copies of a folder at several times, one of each state.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isLockFile } from '#ports/folder-lock.ts';

export class FolderStates {
  /** `point`: what `keep` was called with when the folder had this state. */
  readonly kept: { readonly copy: string; readonly point: string }[] = [];
  private readonly folder: string;
  private readonly seen = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Copies the folder, if it is there, unless a copy of the same files exists. */
  keep(point: string): void {
    const digest = this.digest();
    if (this.seen.has(digest)) return;
    this.seen.add(digest);
    const copy = `${this.folder}-${this.kept.length}`;
    if (existsSync(this.folder)) cpSync(this.folder, copy, { recursive: true });
    this.kept.push({ copy, point });
  }

  /** The hash of all files but those of the lock, which say nothing about the state. */
  private digest(): string {
    const hash = createHash('sha1');
    for (const name of globSync('**', { cwd: this.folder }).sort()) {
      if (isLockFile(name)) continue;
      const path = join(this.folder, name);
      const content = statSync(path).isDirectory() ? Buffer.alloc(0) : readFileSync(path);
      hash.update(`${name} ${content.length} `).update(content);
    }
    return hash.digest('hex');
  }
}
